"""What kept a memory out, in words: each condition by itself, and what to do about it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.recall_contexts import recall_context
from tests.strategies import MOMENT

from recollect.core.memory.memory import Memory, Scope
from recollect.core.recall.explain import ObstacleKind, below_limit, find_bars
from recollect.core.recall.request import RecallRequest, RerankPlace, SortBy

MEMORY = Memory(
    id=UUID(int=1),
    owner="me",
    content="staging is frozen",
    created_at=MOMENT,
    updated_at=MOMENT,
    tags=("ops",),
    project="shop",
    session="monday",
)

BARS: list[tuple[dict[str, Any], ObstacleKind, str, str]] = [
    ({"scope": Scope(project="web")}, "out_of_scope", "project is shop", "project shop"),
    (
        {"scope": Scope(sessions=("a", "b"))},
        "out_of_scope",
        "the scope requires a, b",
        "session monday",
    ),
    ({"scope": Scope(categories=("note",))}, "out_of_scope", "category is fact", "category fact"),
    ({"scope": Scope(tags=("ops", "web"))}, "out_of_scope", "the tags web", "Ask without web"),
    (
        {"scope": Scope(since=MOMENT + timedelta(seconds=1))},
        "out_of_scope",
        "before 2026-11-15T09:30:01",
        "earlier `since`",
    ),
    ({"scope": Scope(until=MOMENT)}, "out_of_scope", "not before", "later `until`"),
    ({"exclude": frozenset([UUID(int=1)])}, "excluded", "excludes it", "`exclude`"),
]


@pytest.mark.parametrize(("asked", "kind", "what", "remedy"), BARS)
def test_find_bars_names_each_with_its_remedy(
    asked: dict[str, Any], kind: ObstacleKind, what: str, remedy: str
) -> None:
    (found,) = find_bars(MEMORY, recall_context(RecallRequest("q", **asked)))
    assert found.kind == kind
    assert what in found.what
    assert remedy in found.remedy


def test_find_bars_asks_for_no_project_when_the_memory_has_none() -> None:
    homeless = replace(MEMORY, project=None)
    (found,) = find_bars(homeless, recall_context(RecallRequest("q", scope=Scope(project="web"))))
    assert (found.what, found.remedy) == (
        "it has no project; the scope requires web",
        "Ask for no project.",
    )


def test_find_bars_names_all_of_several() -> None:
    forgotten = replace(MEMORY, deleted_at=MOMENT)
    scope = Scope(project="web", tags=("x",))
    asked = recall_context(RecallRequest("q", scope=scope))
    kinds = [bar.kind for bar in find_bars(forgotten, asked)]
    assert kinds == ["forgotten", "out_of_scope", "out_of_scope"]


def test_find_bars_is_empty_inside_the_scope() -> None:
    scope = Scope("shop", ("monday",), ("fact",), ("ops",), MOMENT, MOMENT + timedelta(seconds=1))
    assert scope.covers(MEMORY)
    request = RecallRequest("q", scope=scope, exclude=frozenset([UUID(int=2)]))
    assert find_bars(MEMORY, recall_context(request)) == []


LOW: list[tuple[int, int, int | None, str]] = [
    (14, 50, 11, "Ask more precisely, or ask with a limit of 14 or more."),
    (14, 50, None, "Ask more precisely, or ask with a limit of 14 or more."),
    (
        14,
        50,
        10,
        "Ask more precisely, ask with a limit of 14 or more, or raise its importance to 1.",
    ),
    # a limit above the depth asks the legs for more; one above 100 is refused
    (51, 50, 10, "Ask more precisely, or raise its importance to 1."),
    (100, 200, None, "Ask more precisely, or ask with a limit of 100 or more."),
    (101, 200, None, "Ask more precisely, or within a narrower scope."),
    # nothing could be tried
    (14, 0, None, "Ask more precisely, or within a narrower scope."),
]


@pytest.mark.parametrize(("place", "reach", "vital", "remedy"), LOW)
def test_below_limit_names_only_what_would_help(
    place: int, reach: int, vital: int | None, remedy: str
) -> None:
    found = below_limit(place, RecallRequest("q", limit=10), reach=reach, vital=vital)
    assert (found.kind, found.remedy) == ("below_limit", remedy)
    assert f"place {place}" in found.what


ORDERS: list[tuple[SortBy, RerankPlace | None, str]] = [
    ("relevance", None, "the fused order"),
    ("importance", None, "the order by importance"),
    ("recency", None, "the order by date"),
    ("relevance", RerankPlace(0.5, 3), "the second stage's order"),
]


@pytest.mark.parametrize(("sort_by", "rerank", "order"), ORDERS)
def test_below_limit_names_the_order_that_counted(
    sort_by: SortBy, rerank: RerankPlace | None, order: str
) -> None:
    found = below_limit(14, RecallRequest("q", sort_by=sort_by), reach=50, rerank=rerank)
    assert found.what == f"it has place 14 in {order}, and 10 were asked for"


@pytest.mark.parametrize(
    ("former", "reach", "is_named"), [(10, 50, True), (11, 50, False), (10, 0, False)]
)
def test_below_limit_suggests_turning_the_second_stage_off(
    former: int, reach: int, is_named: bool
) -> None:
    found = below_limit(14, RecallRequest("q"), reach=reach, rerank=RerankPlace(0.5, former))
    assert ("settings set second_stage off" in found.remedy) is is_named
