"""What a recall may ask, and which legs of an answer count as degraded."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import Scope
from recollect.core.recall.request import LegReport, LegStatus, RecallRequest, Recollection
from recollect.core.text.analysis import clean_query

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"limit": 0}, "limit"),
    ({"limit": 101}, "limit"),
    ({"sort_by": "age"}, "sort_by"),
    ({"weights": {"dense": -1.0}}, "dense_weight"),
    ({"weights": {"graph": 5.1}}, "graph_weight"),
    ({"weights": {"lexical": float("nan")}}, "lexical_weight"),
    ({"weights": {"lexcal": 1.0}}, "weights"),
    ({"scope": Scope(categories=("gossip",))}, "category"),
    ({"scope": Scope(project="\x00")}, "project"),
    ({"as_of": datetime(2026, 3, 4)}, "as_of"),  # noqa: DTZ001  # illegal on purpose
]


@pytest.mark.parametrize(("asked", "culprit"), REFUSED)
def test_request_refuses_illegal_values(asked: dict[str, Any], culprit: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        RecallRequest("q", **asked)
    assert refused.value.field == culprit


@pytest.mark.parametrize("limit", [1, 100])
@pytest.mark.parametrize("weight", [0.0, 5.0])
@pytest.mark.parametrize("query", ["", "AND", "\x00", "x" * 1_000_000])
def test_request_accepts_any_text_within_the_ranges(limit: int, weight: float, query: str) -> None:
    request = RecallRequest(query, limit=limit, weights={"dense": weight})
    assert request.query == clean_query(query)


def test_request_trims_the_names_of_its_scope() -> None:
    assert RecallRequest("q", scope=Scope(project=" web ")).scope == Scope(project="web")


@pytest.mark.parametrize(
    ("status", "degraded"),
    [("ran", ()), ("skipped", ()), ("absent", ()), ("failed", ("dense",)), ("late", ("dense",))],
)
def test_degraded_names_the_legs_that_should_have_answered(
    status: LegStatus, degraded: tuple[str, ...]
) -> None:
    reports = {"lexical": LegReport("ran", 1.0), "dense": LegReport(status, 1.0)}
    answer = Recollection((), reports, "rrf", 1.0)  # type: ignore[arg-type]  # mypy widens the keys
    assert answer.degraded == degraded
