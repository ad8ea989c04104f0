"""A language model's statement is used only where the text itself mentions its terms."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from recollect.core.graph.extraction import ExtractionJob
from recollect.core.graph.triples import extraction_of

JOB = ExtractionJob(
    UUID(int=1), "ada", "", "Since 2019 Ada Lovelace works at Initech in Rome.", (), ()
)


def triple(subject: object, relation: object, object_: object, **dates: object) -> dict[str, Any]:
    return {"subject": subject, "relation": relation, "object": object_, **dates}


def facts(*triples: object) -> list[tuple[str, str, str]]:
    read = extraction_of(JOB, list(triples)).facts
    by_rules = {(fact.source, fact.relation, fact.target) for fact in extraction_of(JOB, []).facts}
    found = [(fact.source, fact.relation, fact.target) for fact in read]
    return [fact for fact in found if fact not in by_rules]


def test_a_stated_triple_is_taken_in_one_spelling() -> None:
    assert facts(triple("Ada Lovelace", "Lives_In", "Rome")) == [
        ("ada lovelace", "lives in", "rome")
    ]


@pytest.mark.parametrize(
    "odd",
    [
        triple("Ada", "knows", "Mallory"),  # the text does not mention them
        triple("Mallory", "knows", "Ada"),
        triple("Ada", "", "Rome"),
        triple("Ada", "x" * 101, "Rome"),
        triple("Rome", "is", "Rome"),
        triple("…", "is", "Rome"),
        triple(7, "is", "Rome"),
        triple("Ada", None, "Rome"),
        "Ada knows Rome",
        None,
    ],
)
def test_anything_else_is_not(odd: object) -> None:
    assert facts(odd) == []


def test_an_answer_that_is_not_a_list_gives_nothing() -> None:
    assert extraction_of(JOB, {"subject": "Ada"}) == extraction_of(JOB, [])


@pytest.mark.parametrize(
    ("date", "meant"),
    [
        ("2019", datetime(2019, 1, 1, tzinfo=UTC)),
        ("2019-07", datetime(2019, 7, 1, tzinfo=UTC)),
        ("2019-07-31", datetime(2019, 7, 31, tzinfo=UTC)),
        ("2019-02-31", None),
        ("0000", None),
        ("last week", None),
        (2019, None),
        (None, None),
    ],
)
def test_dates_are_taken_where_they_are_dates(date: object, meant: datetime | None) -> None:
    read = extraction_of(JOB, [triple("Ada Lovelace", "employed by", "Initech", since=date)])
    (fact,) = [fact for fact in read.facts if fact.relation == "employed by"]
    assert (fact.valid_from, fact.valid_to) == (meant, None)
