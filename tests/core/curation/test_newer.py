"""An update ranks before what it updates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.conformance.samples import memory

from recollect.core.curation.newer import MAX_COMPARED, put_newer_first
from recollect.core.recall.request import Hit, NewerThan

OLD = "The billing API runs on port 8000."
NEW = "The billing API moved to port 9000."
START = datetime(2026, 1, 1, tzinfo=UTC)


def hit(number: int, content: str, days: int = 0, **fields: object) -> Hit:
    stored = memory(number, content, created_at=START + timedelta(days=days), **fields)
    return Hit(stored, 1.0 / number, 1.0, 1.0, {})


def contents(hits: list[Hit]) -> list[str]:
    return [each.memory.content for each in hits]


def test_an_update_ranks_before_what_it_updates_and_says_why() -> None:
    other = hit(2, "Ada prefers tea.", 3)
    found = put_newer_first([hit(1, OLD), other, hit(3, NEW, 9)])
    assert contents(found) == [NEW, OLD, other.memory.content]
    older = found[1].memory.id
    assert found[0].newer_than == NewerThan(older, "8000 became 9000")
    assert [each.newer_than for each in found[1:]] == [None, None]


@pytest.mark.parametrize(
    "hits",
    [
        pytest.param([hit(1, NEW, 9), hit(2, OLD)], id="already in order"),
        pytest.param([hit(1, OLD, 9), hit(2, NEW)], id="the change is older"),
        pytest.param([hit(1, OLD), hit(2, NEW)], id="at the same time"),
        pytest.param([hit(1, OLD), hit(2, NEW, 9, project="shop")], id="another project"),
        pytest.param([hit(1, OLD), hit(2, "The mail API runs on port 25.", 9)], id="another API"),
        pytest.param([hit(1, "Ada likes tea."), hit(2, "Ben likes tea.", 9)], id="only similar"),
        pytest.param([hit(1, OLD), hit(2, "x" * 5_000 + NEW, 9)], id="a long text"),
        pytest.param([hit(1, OLD)], id="one hit"),
        pytest.param([], id="none"),
    ],
)
def test_others_keep_their_order(hits: list[Hit]) -> None:
    assert put_newer_first(hits) == hits


def test_a_chain_of_updates_is_in_order() -> None:
    texts = [f"The billing API moved to port {port}." for port in (8000, 8100, 8200)]
    found = put_newer_first([hit(at + 1, text, at) for at, text in enumerate(texts)])
    assert contents(found) == texts[::-1]


def test_only_the_first_hits_are_compared() -> None:
    others = [hit(10 + number, f"Note about topic {number}", 1) for number in range(MAX_COMPARED)]
    hits = [hit(1, OLD), *others, hit(2, NEW, 9)]
    assert put_newer_first(hits) == hits
