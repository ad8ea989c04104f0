"""The rule that separates questions that words can answer from those that need meaning."""

from __future__ import annotations

from math import log

import pytest

from recollect_bench.data.datasets import Document, EvaluationSet, Question
from recollect_bench.data.strata import Frequencies, rule_strata, rule_stratum, share, stem, stems

# In how many of a hundred memories each word occurs.
HUNDRED = Frequencies(100, {"rain": 80, "heron": 1, "weir": 1, "otter": 1, "marsh": 20, "reed": 21})


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        ("memory memories", "memory"),
        ("store stores stored storing", "stor"),
        ("plan plans planned planning", "plan"),
        ("tell tells telling", "tell"),
        ("set setting settings", "set"),
        ("study studies studied", "study"),
        ("quick quickly", "quick"),
        ("pass passes passed passing", "pass"),
    ],
)
def test_stem_maps_word_forms_to_one_stem(forms: str, expected: str) -> None:
    assert {stem(form) for form in forms.split()} == {expected}


@pytest.mark.parametrize(
    "word", ["red", "bus", "glass", "status", "ring", "need", "rt4127", "日本"]
)
def test_stem_keeps_false_suffixes(word: str) -> None:
    assert stem(word) == word


def test_words_are_distinct_telling_and_without_contractions() -> None:
    assert stems("Don’t: Mira's otter, the OTTERS and what they'll have!") == {"mira", "otter"}


@pytest.mark.parametrize(
    ("text", "rare"),
    [
        ("heron", {"heron": log(1 + 99.5 / 1.5)}),
        ("a marsh in the rain", {"marsh": log(1 + 80.5 / 20.5)}),
        ("reed", {}),  # in 21 of 100, so in more than a fifth
        ("unheard", {}),  # in none
    ],
)
def test_a_rare_word_is_in_some_but_few_documents(text: str, rare: dict[str, float]) -> None:
    assert HUNDRED.rare(text) == pytest.approx(rare)


def test_among_few_documents_a_word_of_a_single_one_is_rare() -> None:
    frequencies = Frequencies.of(["otter otters", "heron", "heron"])
    assert frequencies == Frequencies(3, {"otter": 1, "heron": 2})
    assert frequencies.rare("otter heron") == pytest.approx({"otter": log(1 + 2.5 / 1.5)})


def test_share_is_the_weight_that_the_text_holds() -> None:
    assert share({"otter": 3.0, "weir": 1.0}, "Otters at the marsh") == 3 / 4
    assert share({}, "anything") == 0.0


@pytest.mark.parametrize(
    ("question", "gold", "stratum"),
    [
        # All rare words are there; the common and the unknown one have no weight.
        ("Does the unheard heron at the weir like rain?", ["a heron at the weir"], "exact"),
        ("heron weir otter", ["heron weir"], "exact"),  # 2/3
        ("heron weir", ["heron"], "mixed"),  # 1/2
        ("heron weir", ["otter"], "paraphrase"),
        ("heron weir", ["rain"], "paraphrase"),
        ("the rain", ["the rain"], "paraphrase"),  # no rare word
        ("heron weir", ["heron", "weir"], "multi-hop"),
        ("heron weir", ["heron weir", "rain"], "multi-hop"),
        ("heron weir", ["rain", "otter"], "paraphrase"),
    ],
)
def test_the_stratum_by_rule(question: str, gold: list[str], stratum: str) -> None:
    assert rule_stratum(question, gold, HUNDRED) == stratum


@pytest.mark.parametrize(("held", "stratum"), [(1, "paraphrase"), (2, "mixed"), (6, "exact")])
def test_the_limits_belong_to_the_stratum_above(held: int, stratum: str) -> None:
    """Of ten equally rare words, two are a share of .20 and six a share of .60."""
    names = [f"w{number}" for number in range(10)]
    frequencies = Frequencies(1_000, dict.fromkeys(names, 1))
    assert rule_stratum(" ".join(names), [" ".join(names[:held])], frequencies) == stratum


def test_a_question_is_judged_within_its_scope() -> None:
    """`otter` is in every turn of its own conversation, and in none elsewhere."""
    talk = [Document(f"t{n}", f"otter fact{n}", scope="talk") for n in range(10)]
    else_where = [Document(f"e{n}", "something else", scope="other") for n in range(90)]
    gold = {"in": {"t3": 1}, "out": {"t3": 1}, "lost": {"gone": 1}, "odd": {"t3": 1}}
    questions = (
        Question("in", "otter fact4", "s", scope="talk"),
        Question("out", "otter fact4", "s"),
        Question("lost", "fact4", "s"),
        Question("odd", "fact3", "s", scope="nowhere"),
    )
    data = EvaluationSet("made", (*talk, *else_where), questions, gold, digest="")
    assert rule_strata(data) == {
        "in": "paraphrase",
        "out": "mixed",  # log(1 + 90.5/10.5) / (log(1 + 90.5/10.5) + log(1 + 99.5/1.5)) = .35
        "lost": "paraphrase",
        "odd": "paraphrase",
    }
