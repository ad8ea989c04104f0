"""The floor: an unrelated prompt does not retrieve a memory."""

from __future__ import annotations

import pytest
from tests.conformance.samples import memory

from recollect.core.recall.relevance import (
    FLOOR,
    MEANING_FLOOR,
    choose_relevant,
    relevance,
    stem,
)
from recollect.core.recall.request import Hit, LegName, LegPlace

FRIDAY = "The staging database is read-only on Fridays."


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("Can I write to the staging database on a Friday?", FRIDAY),
        ("is the staging database up?", FRIDAY),
        ("Install the packages of the web frontend", "We use pnpm, not npm, for the web frontend."),
        ("deploy to staging", "Deploys to staging go through the blue pipeline."),
    ],
)
def test_related_prompts_clear_the_floor(prompt: str, text: str) -> None:
    assert relevance(prompt, text) >= FLOOR


@pytest.mark.parametrize(
    "prompt",
    [
        "continue",
        "fix the failing test",
        "yes",
        "",
        "??",
        "what does this error mean?",
        "thanks",
        "write a poem about the sea on a sunny friday morning please",
        "run it again",
    ],
)
def test_unrelated_prompts_stay_below_the_floor(prompt: str) -> None:
    assert relevance(prompt, FRIDAY) < FLOOR


def test_relevance_is_0_with_nothing_in_common() -> None:
    assert relevance("violin lessons", FRIDAY) == 0.0


def test_relevance_is_the_sum_it_documents() -> None:
    # Two of two telling words, once each, in a text of two words.
    dampened = 1.2 * (1 - 0.75 + 0.75 * 2 / 60)
    word = 1 * 2.2 / (1 + dampened)
    assert relevance("staging database", "staging database") == pytest.approx(
        2 * word * (1 + 1 / 2)
    )


def test_relevance_is_lower_for_a_longer_text() -> None:
    prompt = "staging database friday"
    assert relevance(prompt, FRIDAY) > relevance(prompt, FRIDAY + " padding" * 300)


def _hit(number: int, text: str, **evidence: float) -> Hit:
    """Found by these legs, with this evidence."""
    names: tuple[LegName, ...] = ("lexical", "dense")
    legs = {
        name: LegPlace(1, 0.5, 1.0, evidence=evidence[name]) for name in names if name in evidence
    }
    return Hit(memory(number, text), 1.0, 1.0, 1.0, legs)


def _chosen(prompt: str, *hits: Hit) -> list[int]:
    return [hit.memory.id.int for hit in choose_relevant(prompt, hits)]


def _others(*nearness: float) -> list[Hit]:
    return [
        _hit(number, f"Violins hang in the study {number}.", dense=near)
        for number, near in enumerate(nearness, start=2)
    ]


def test_evidence_of_the_meaning_clears_the_floor() -> None:
    prompt = "when may rows be changed?"
    assert _chosen(prompt, _hit(1, FRIDAY, dense=MEANING_FLOOR)) == [1]
    near = _others(MEANING_FLOOR - 0.01)
    assert _chosen(prompt, _hit(1, FRIDAY, dense=MEANING_FLOOR - 0.01), *near) == []


def test_words_count_beside_the_meaning() -> None:
    near = [_hit(1, FRIDAY, dense=MEANING_FLOOR - 0.05), *_others(0.6)]
    assert _chosen("staging database friday", *near) == [1, 2]
    assert _chosen("when may rows be changed?", *near) == []


def test_words_clear_their_floor_whatever_the_meaning_says() -> None:
    """As in a language that the model was not made for."""
    prompt = "Wann hat meine Mutter Geburtstag?"
    text = "Meine Mutter hat am 4. Mai Geburtstag."
    assert _chosen(prompt, _hit(1, text, lexical=1.0, dense=0.3)) == [1]
    assert _chosen(prompt, _hit(1, text, lexical=1.0)) == [1]


def test_words_must_hold_a_good_share_of_a_short_prompt() -> None:
    """A name in a script without spaces is several words, and no more than one thing."""
    prompt = "競合アプリの料金はいくら？"
    text = "アプリのリリースは毎週木曜の夜に出す。"
    assert relevance(prompt, text) >= FLOOR
    assert _chosen(prompt, _hit(1, text, lexical=0.24)) == []
    long_prompt = "staging database friday " + "and something else " * 10
    assert _chosen(long_prompt, _hit(1, FRIDAY, lexical=0.24)) == [1]


def test_a_hit_far_before_the_next_needs_less() -> None:
    prompt = "Draft a note to the shipyard"
    assert _chosen(prompt, _hit(1, FRIDAY, dense=0.6), *_others(0.5, 0.4)) == [1]
    assert _chosen(prompt, _hit(1, FRIDAY, dense=0.6), *_others(0.55, 0.4)) == []
    assert _chosen(prompt, _hit(1, FRIDAY, dense=0.5), *_others(0.3)) == []


def test_the_first_hits_accompany_one_that_is_clear() -> None:
    prompt = "when may rows be changed?"
    clear = _hit(1, FRIDAY, dense=0.7)
    assert _chosen(prompt, *_others(0.6, 0.51), clear, *_others(0.6)) == [2, 1]
    by_words = [_hit(2, "Ask Ada.", lexical=0.2), _hit(1, FRIDAY, lexical=0.9)]
    assert _chosen("is the staging database up on a Friday?", *by_words) == [2, 1]


def test_relevance_counts_keywords_and_tags() -> None:
    one = memory(1, "Ask Ada.", expanded_keywords=("printer", "toner"), tags=("office",))
    place = LegPlace(1, 0.5, 1.0)
    assert choose_relevant("printer toner", [Hit(one, 1.0, 1.0, 1.0, {"lexical": place})])


@pytest.mark.parametrize(
    ("forms"),
    [
        ("deploy", "deploys", "deployed", "deploying"),
        ("database", "databases"),
        ("query", "queries"),
        ("run", "running"),
        ("fail", "failing", "failed"),
    ],
)
def test_stem_is_the_same_for_all_forms_of_a_word(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("Wie ist das Wetter heute in der Stadt?", "Die Deployments laufen in der Nacht."),
        ("¿Cuál es la capital de Francia?", "La base de datos de la tienda es de solo lectura"),
        ("今日の天気はどうですか", "デプロイは金曜日にはしないことです"),
    ],
)
def test_words_that_every_sentence_has_say_nothing_in_any_language(prompt: str, text: str) -> None:
    assert relevance(prompt, text) == 0.0
