"""Which part of a long text a hit shows, and what its passages' vectors hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from recollect.core.memory.memory import Memory
from recollect.core.recall.passages import (
    FIRST_SHARE,
    count_matched_words,
    job_passages,
    mix_with_first,
    show_passages,
)
from recollect.core.recall.request import Hit, LegPlace, Passage
from recollect.core.recall.space import EmbeddingJob
from recollect.core.text.passages import Span, cut_passages

AT = datetime(2026, 1, 1, tzinfo=UTC)
FILLER = "The weather was fine and nothing else was said about the matter that day. "
NEAR = Span(2_000, 2_150)
"""The part of a long text that is nearest in meaning."""


def text_with(fact: str, *, at: float) -> str:
    before = int(200 * at)
    return FILLER * before + fact + " " + FILLER * (200 - before)


def hit(text: str, **fields: object) -> Hit:
    memory = Memory(id=UUID(int=1), owner="ada", content=text, created_at=AT, updated_at=AT)
    return replace(Hit(memory, 1.0, 1.0, 1.0, {}), **fields)  # type: ignore[arg-type]


def holds(passage: Passage, part: Span) -> bool:
    return passage.start <= part.start and part.end <= passage.end


@pytest.mark.parametrize("at", [0.0, 0.5, 1.0], ids=["start", "middle", "end"])
@pytest.mark.parametrize(
    ("fact", "query"),
    [
        ("The ferry to Marblehead leaves at nine.", "when do the ferries to Marblehead leave?"),
        ("私は緑茶が好きです。", "緑茶"),
        ("We met at Café Zentral.", "cafe"),
        ("The rent is due on the third.", "rent"),
        ("Ask OrderService for it.", "order service"),
        ("Die Häuser sind verkauft.", "wann war das Haus in der Stadt"),
        ("서울에서 만나요.", "서울"),
        ("ｶﾞｽを止める。", "ガス"),
    ],
)
def test_a_hit_shows_the_passage_with_the_words(fact: str, query: str, at: float) -> None:
    text = text_with(fact, at=at)
    (shown,) = show_passages([hit(text)], query)
    assert shown.passage is not None
    assert fact in shown.passage.text
    assert text[shown.passage.start : shown.passage.end] == shown.passage.text
    assert len(shown.passage.text) < 1_500


@pytest.mark.parametrize(
    ("filler", "fact", "query"),
    [
        ("The parents had a different and current opinion. ", "The rent is due.", "rent"),
        ("Die Leute sind alle da und nicht dort. ", "Der Vertrag.", "die Verträge"),
    ],
    ids=["part of a word", "stop word"],
)
def test_parts_of_words_and_stop_words_do_not_count(filler: str, fact: str, query: str) -> None:
    text = filler * 100 + fact + " " + filler * 100
    (shown,) = show_passages([hit(text)], query)
    assert shown.passage is not None
    assert fact in shown.passage.text


def test_the_passage_with_the_rarer_words_is_shown() -> None:
    common, rare = "The ferry is late again today. ", "The captain of the ferry is Ada. "
    text = common * 200 + rare + common * 200
    (shown,) = show_passages([hit(text)], "ferry captain")
    assert shown.passage is not None
    assert rare.strip() in shown.passage.text


def test_a_hit_by_a_tag_shows_the_passage_nearest_in_meaning() -> None:
    legs = {
        "dense": LegPlace(1, 0.8, 0.1, passage=NEAR),
        "lexical": LegPlace(1, 3.0, 0.9),
    }
    (shown,) = show_passages([hit(text_with("", at=0.0), legs=legs)], "zeppelin")
    assert shown.passage is not None
    assert holds(shown.passage, NEAR)


def test_a_short_text_shows_no_passage() -> None:
    (shown,) = show_passages([hit("The ferry leaves at nine.")], "ferry")
    assert shown.passage is None


def test_a_text_without_the_words_shows_no_passage() -> None:
    (shown,) = show_passages([hit(text_with("", at=0.0))], "zeppelin")
    assert shown.passage is None


def test_the_leg_that_counts_more_chooses_the_passage() -> None:
    text = text_with("The ferry leaves at nine.", at=1.0)
    near = LegPlace(1, 0.8, 0.7, passage=NEAR)
    for lexical, is_near in ((0.2, True), (0.9, False)):
        legs = {"dense": near, "lexical": LegPlace(1, 3.0, lexical)}
        (shown,) = show_passages([hit(text, legs=legs)], "ferry")
        assert shown.passage is not None
        assert holds(shown.passage, NEAR) is is_near


def test_a_passage_of_an_older_text_is_not_shown() -> None:
    text = text_with("The ferry leaves at nine.", at=1.0)
    old = Passage("The train leaves at ten.", 0, 24)
    (shown,) = show_passages([hit(text, passage=old)], "ferry")
    assert shown.passage is not None
    assert "ferry" in shown.passage.text
    gone = LegPlace(1, 0.8, 0.7, passage=Span(100, 1_000_000))
    (shown,) = show_passages([hit(text, legs={"dense": gone})], "ferry")
    assert shown.passage is not None
    assert "ferry" in shown.passage.text


def test_an_excerpt_is_marked_where_the_text_goes_on() -> None:
    assert Passage("one", 0, 3).excerpt(3) == "one"
    assert Passage("one ", 0, 4).excerpt(9) == "one …"
    assert Passage("two", 4, 7).excerpt(9) == "… two …"
    assert Passage("six", 4, 7).excerpt(7) == "… six"


def test_a_turn_of_one_passage_is_embedded_with_the_turns_before_it() -> None:
    job = EmbeddingJob(UUID(int=1), "ada", "t", "Yes.\nShall we?", context_at=4)
    assert job_passages(job, 256) == [Span(0, len(job.text))]
    own = "茶" * 300
    job = EmbeddingJob(UUID(int=1), "ada", "t", f"{own}\nShall we?", context_at=300)
    assert job_passages(job, 256) == cut_passages(own, 256)


def test_each_passage_has_its_share_of_the_first() -> None:
    first, other = [1.0, 0.0], [0.0, 1.0]
    assert mix_with_first([first, other]) == [first, [FIRST_SHARE, 1.0 - FIRST_SHARE]]


def test_words_match_in_any_form_and_stop_words_do_not_count() -> None:
    ferries = hit("The ferries leave Elba at six.")
    ferries = replace(ferries, memory=replace(ferries.memory, tags=("timetable",)))

    def count(query: str) -> tuple[int, int] | None:
        return count_matched_words(ferries, query).matched_words

    assert count("when does the ferry leave Corsica?") == (2, 3)
    assert count("timetable") == (1, 1)
    assert count("") == (0, 0)
