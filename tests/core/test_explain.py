"""What kept a memory out, in words: each condition by itself, and what to do about it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.strategies import MOMENT

from recollect.core.explain import LegFacts, ObstacleKind, barred, below_limit, leg_obstacle
from recollect.core.memory import Memory, Scope
from recollect.core.recall import LegName, RecallRequest

MEMORY = Memory(
    UUID(int=1),
    "me",
    "staging is frozen",
    MOMENT,
    MOMENT,
    tags=("ops",),
    project="shop",
    session="monday",
)
RAN = LegFacts("ran", 1.0, 50, score=0.5, rank=1, searched=50)

BARS: list[tuple[dict[str, Any], ObstacleKind, str, str]] = [
    ({"scope": Scope(project="web")}, "out_of_scope", "project is shop", "project shop"),
    ({"scope": Scope(sessions=("a", "b"))}, "out_of_scope", "a, b was asked", "session monday"),
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
def test_each_bar_is_named_with_the_way_around_it(
    asked: dict[str, Any], kind: ObstacleKind, what: str, remedy: str
) -> None:
    (found,) = barred(MEMORY, RecallRequest("q", **asked))
    assert found.kind == kind
    assert what in found.what
    assert remedy in found.remedy


def test_a_memory_without_a_project_is_asked_for_without_one() -> None:
    homeless = replace(MEMORY, project=None)
    (found,) = barred(homeless, RecallRequest("q", scope=Scope(project="web")))
    assert (found.what, found.remedy) == (
        "it has no project, and web was asked for",
        "Ask for no project.",
    )


def test_several_bars_are_all_named() -> None:
    forgotten = replace(MEMORY, deleted_at=MOMENT)
    scope = Scope(project="web", tags=("x",))
    kinds = [one.kind for one in barred(forgotten, RecallRequest("q", scope=scope))]
    assert kinds == ["forgotten", "out_of_scope", "out_of_scope"]


def test_what_the_scope_covers_is_not_barred() -> None:
    scope = Scope("shop", ("monday",), ("fact",), ("ops",), MOMENT, MOMENT + timedelta(seconds=1))
    assert scope.covers(MEMORY)
    assert barred(MEMORY, RecallRequest("q", scope=scope, exclude=frozenset([UUID(int=2)]))) == []


LEG_OBSTACLES: list[tuple[LegName, LegFacts, Memory, ObstacleKind | None, str]] = [
    ("lexical", RAN, MEMORY, None, ""),
    ("lexical", replace(RAN, rank=50), MEMORY, None, ""),
    ("lexical", replace(RAN, rank=51), MEMORY, "below_depth", "set depth 51"),
    ("lexical", replace(RAN, rank=1_001), MEMORY, "below_depth", "narrower scope"),
    ("lexical", replace(RAN, rank=None), MEMORY, "below_floor", "more precisely"),
    ("lexical", replace(RAN, score=None, rank=None), MEMORY, "no_match", "expanded keywords"),
    ("graph", replace(RAN, score=None, rank=None), MEMORY, "no_match", "tags"),
    ("dense", replace(RAN, score=None, rank=None), MEMORY, "not_embedded", "recollect worker"),
    (
        "dense",
        replace(RAN, score=None, rank=None),
        replace(MEMORY, is_sensitive=True),
        "sensitive",
        "with words that it contains",
    ),
    # what is forgotten is in no leg, and is said once for all of them
    ("lexical", replace(RAN, score=None), replace(MEMORY, deleted_at=MOMENT), None, ""),
    ("dense", LegFacts("skipped", 0.0, 50), MEMORY, "leg_skipped", "dense_weight 1"),
    ("dense", LegFacts("skipped", 1.0, 50, note="secret"), MEMORY, "leg_skipped", "local model"),
    ("dense", LegFacts("absent", 1.0, 50), MEMORY, "leg_absent", "doctor"),
    ("dense", LegFacts("late", 1.0, 50), MEMORY, "leg_late", "again"),
    ("dense", LegFacts("failed", 1.0, 50, note="gone"), MEMORY, "leg_failed", "doctor"),
]


@pytest.mark.parametrize(("leg", "facts", "memory", "kind", "remedy"), LEG_OBSTACLES)
def test_what_keeps_a_memory_out_of_a_leg(
    leg: LegName, facts: LegFacts, memory: Memory, kind: ObstacleKind | None, remedy: str
) -> None:
    found = leg_obstacle(leg, facts, memory, RecallRequest("q"))
    if kind is None:
        assert found is None
        return
    assert found is not None
    assert (found.kind, found.leg) == (kind, leg)
    assert remedy in found.remedy
    assert (facts.note or "") in found.what


def test_below_the_depth_the_remedy_is_what_trying_it_showed() -> None:
    facts = replace(RAN, rank=63)

    def remedy(place: int) -> str:
        found = leg_obstacle("lexical", facts, MEMORY, RecallRequest("q", limit=10), place)
        assert found is not None
        return found.remedy

    deeper = "Ask more precisely, or look deeper"
    assert remedy(10) == f"{deeper}: `recollect settings set depth 63`."
    assert remedy(11) == (
        f"{deeper}, `recollect settings set depth 63`, and ask with a limit of 11 or more."
    )
    assert "limit of 63" in remedy(63)
    # a limit above the depth asks the legs for more, and the place may be another then
    assert remedy(64) == "Ask more precisely, or within a narrower scope."


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
]


@pytest.mark.parametrize(("place", "depth", "vital", "remedy"), LOW)
def test_below_the_limit_only_what_would_do_is_named(
    place: int, depth: int, vital: int | None, remedy: str
) -> None:
    found = below_limit(place, 10, depth, vital)
    assert (found.kind, found.remedy) == ("below_limit", remedy)
    assert f"place {place}" in found.what
