"""How far a language model's answer about a pair is trusted."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.core.curation.answers import (
    CONFIDENCE,
    UnusableAnswer,
    describe_pair,
    read_answer,
)
from recollect.core.curation.pairs import Decision, compare, measure_doubt

NEW = "The spare key of the beach house is in the shoe rack."
OLD = "The spare key of the beach house is under the blue flower pot."
ANSWER = {"verdict": "supersedes", "newer_quote": "shoe rack", "older_quote": "flower pot"}


def test_an_answer_with_both_quotes_is_a_decision() -> None:
    found = read_answer(json.dumps(ANSWER), NEW, OLD)
    reason = "a language model compared them"
    assert found == Decision("supersedes", CONFIDENCE, "shoe rack", "flower pot", reason)
    assert read_answer(f"They differ: {json.dumps(ANSWER)}", NEW, OLD) == found
    assert read_answer(f"```json\n{json.dumps(ANSWER)}\n```", NEW, OLD) == found


def test_unrelated_memories_have_no_decision() -> None:
    assert read_answer(json.dumps({**ANSWER, "verdict": "unrelated"}), NEW, OLD) is None


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "supersede"},
        {"verdict": None},
        {"verdict": ["supersedes"]},
        {"newer_quote": "Shoe rack"},
        {"newer_quote": "flower pot"},
        {"newer_quote": "rack"},
        {"newer_quote": " "},
        {"newer_quote": None},
        {"older_quote": 5},
        {"verdict": "unrelated", "older_quote": 5},
        {"reason": "because"},
    ],
)
def test_any_other_answer_is_unusable(change: dict[str, object]) -> None:
    with pytest.raises(UnusableAnswer):
        read_answer(json.dumps({**ANSWER, **change}), NEW, OLD)


@pytest.mark.parametrize("answer", ["", "supersedes", "{", "[1]", "null", "[" * 100_000])
def test_what_is_no_json_object_is_unusable(answer: str) -> None:
    with pytest.raises(UnusableAnswer):
        read_answer(answer, NEW, OLD)


def test_a_long_quote_is_unusable() -> None:
    text = "key " * 200
    with pytest.raises(UnusableAnswer):
        read_answer(json.dumps({**ANSWER, "newer_quote": text}), text, OLD)


@given(st.text(), st.text())
def test_a_text_cannot_end_before_its_end(newer: str, older: str) -> None:
    assert json.loads(describe_pair(newer, older)) == {"newer": newer, "older": older}


def test_a_pair_is_doubtful_if_the_rules_find_nothing_and_much_of_it_is_shared() -> None:
    assert compare(NEW, OLD) is None
    assert measure_doubt(NEW, OLD) > 0.4
    assert measure_doubt("The beach house has a red door.", OLD) == 0.0
    assert measure_doubt("Invoices are sent on Mondays.", OLD) == 0.0


def test_meaning_decides_about_doubt_where_it_is_known() -> None:
    assert measure_doubt("Invoices are sent on Mondays.", OLD, 0.7) == 0.7
    assert measure_doubt(NEW, OLD, 0.69) == 0.0


def test_documents_are_never_doubtful() -> None:
    assert measure_doubt(f"Keys\n{NEW}", f"Keys\n{OLD}", 0.99) == 0.0
    assert measure_doubt(NEW + " More." * 300, OLD, 0.99) == 0.0
