"""Why a memory was recalled or not: for each leg and for the whole, what kept it out and what would
bring it in.

Pure: `usecases/recall/why.py` collects the facts, this module puts them into words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal
from uuid import UUID

from recollect.core.memory.ids import short
from recollect.core.memory.memory import Memory, Scope
from recollect.core.recall.request import (
    MAX_LIMIT,
    Hit,
    LegName,
    LegStatus,
    Reason,
    RecallRequest,
    RerankPlace,
    RerankReport,
    SortBy,
)

if TYPE_CHECKING:
    from recollect.core.recall.context import RecallContext

ObstacleKind = Literal[
    "forgotten",
    "out_of_scope",
    "excluded",
    "superseded",
    "not_known_then",
    "below_limit",
    "leg_skipped",
    "leg_absent",
    "leg_failed",
    "leg_late",
    "sensitive",
    "not_embedded",
    "parked",
    "no_match",
    "below_depth",
    "below_floor",
    "below_relevance",
    "duplicate",
]
MAX_DEPTH_SETTING: Final = 1_000


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One thing that kept a memory out, or out of one leg, and what would remove it."""

    kind: ObstacleKind
    what: str
    remedy: str
    leg: LegName | None = None


@dataclass(frozen=True, slots=True)
class LegFacts:
    """What one leg says about one memory. `score` is set if the leg finds the memory at all; `rank`
    if it is among the first `searched` of the scope, or would be if it were allowed in. `reason`
    says why a leg was not asked, `parked` is the error with which its text failed to be embedded.
    """

    status: LegStatus
    weight: float
    depth: int
    score: float | None = None
    rank: int | None = None
    searched: int = 0
    note: str | None = None
    reason: Reason | None = None
    parked: str | None = None


@dataclass(frozen=True, slots=True)
class WhyLeg:
    """One leg's part in the answer. `contribution` is what it adds to the fused score."""

    facts: LegFacts
    contribution: float | None = None
    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class WhyReport:
    """The answer to "why (not) this memory?". `place` is its place in the whole order, or the place
    it would have if it were allowed in; None if no leg finds it within its depth. A memory that
    `stands_for` others is recalled in the place of the best of them. `superseded_by` is returned in
    the memory's place. `rerank` is how the second stage scored it, `second_stage` the outcome of
    that stage if it is on. `moved` says if the memory gained or lost its place because one updates
    the other. `note` says if the answer is not the requested one.
    """

    memory: Memory
    recalled: bool
    place: int | None
    limit: int
    fused: float | None
    prior: float
    score: float | None
    legs: Mapping[LegName, WhyLeg]
    kept_out: tuple[Obstacle, ...]
    stands_for: tuple[UUID, ...] = ()
    superseded_by: UUID | None = None
    rerank: RerankPlace | None = None
    second_stage: RerankReport | None = None
    moved: str | None = None
    note: str | None = None


def superseded_obstacle(by: UUID) -> Obstacle:
    return Obstacle(
        "superseded",
        f"it is superseded, and {by} stands in its place",
        f"Read that one: `recollect show {short(by)}`. This one is returned again if that one "
        "is forgotten or the link is removed (`recollect unlink`).",
    )


def below_relevance(evidence: float, least: float) -> Obstacle:
    return Obstacle(
        "below_relevance",
        f"its relevance is {evidence:.2f}, and min_relevance is {least:g}",
        "Ask with more of its words, or lower the floor: `recollect settings set min_relevance 0`.",
    )


def duplicate(of: UUID) -> Obstacle:
    return Obstacle(
        "duplicate",
        f"{of} says the same and is shown in its place",
        f"Read that one (`recollect show {short(of)}`), or forget one of the two.",
    )


def explain_move(id: UUID, hits: Sequence[Hit]) -> str | None:
    """Explain that a hit was put before one that it updates, or after one that updates it; None if
    it was not moved.
    """
    moves = [
        (hit.memory.id, hit.newer_than.id, hit.newer_than.reason)
        for hit in hits
        if hit.newer_than is not None
    ]
    for newer, older, reason in moves:
        if newer == id:
            return f"It is shown before {short(older)}, which it updates: {reason}."
    for newer, older, reason in moves:
        if older == id:
            return f"{short(newer)}, which updates it, is shown first: {reason}."
    return None


def not_known_then(as_of: datetime) -> Obstacle:
    return Obstacle(
        "not_known_then",
        f"as of {as_of.isoformat()} it was not stored yet or was forgotten, or what it said then "
        "was never seen here",
        "Use a later --as-of, or omit it.",
    )


def find_bars(memory: Memory, asked: RecallContext) -> list[Obstacle]:
    """Find what keeps a memory from taking part at all, whatever the legs say."""
    found: list[Obstacle] = []
    if memory.deleted_at is not None:
        found.append(
            Obstacle(
                "forgotten",
                "it was forgotten, and no recall shows a forgotten memory",
                "Remember it again as a new memory.",
            )
        )
    found.extend(
        Obstacle("out_of_scope", what, remedy) for what, remedy in _find_unmet(memory, asked.scope)
    )
    if memory.id in asked.request.exclude:
        found.append(
            Obstacle(
                "excluded",
                "the request excludes it, as already in the prompt",
                "Leave its id out of `exclude`.",
            )
        )
    return found


# The name of the order that decides which hits are within the limit.
_ORDERS: Final[Mapping[SortBy, str]] = {
    "relevance": "the fused order",
    "importance": "the order by importance",
    "recency": "the order by date",
}


def below_limit(
    place: int,
    request: RecallRequest,
    *,
    reach: int,
    vital: int | None = None,
    rerank: RerankPlace | None = None,
) -> Obstacle:
    """`reach`: up to this place a greater limit is known to help; one above the depth makes the
    legs return more, which can move the place. `vital` is the place it would have with importance
    1, if importance counts; `rerank` is how the second stage scored it.
    """
    limit = request.limit
    ways = [f"ask with a limit of {place} or more"] if place <= min(reach, MAX_LIMIT) else []
    if vital is not None and vital <= limit:
        ways.append("raise its importance to 1")
    if reach and rerank is not None and rerank.former_place <= limit:
        ways.append("turn the second stage off (`recollect settings set second_stage off`)")
    order = _ORDERS[request.sort_by] if rerank is None else "the second stage's order"
    return Obstacle(
        "below_limit",
        f"it has place {place} in {order}, and {limit} were asked for",
        f"{', '.join(['Ask more precisely', *ways[:-1]])}, or "
        f"{ways[-1] if ways else 'within a narrower scope'}.",
    )


def _find_unmet(memory: Memory, scope: Scope) -> list[tuple[str, str]]:
    """Find each condition of the scope that the memory does not meet, and how to avoid it."""
    found: list[tuple[str, str]] = []

    def add(field: str, has: str | None, required: Sequence[str]) -> None:
        named = ", ".join(required)
        own = f"{field} is {has}" if has else f"it has no {field}"
        remedy = f"Ask for {field} {has}, or for no {field}." if has else f"Ask for no {field}."
        found.append((f"{own}; the scope requires {named}", remedy))

    if not scope.covers_project(memory.project):
        add("project", memory.project, [scope.project or "none"])
    if scope.sessions and memory.session not in scope.sessions:
        add("session", memory.session, scope.sessions)
    if scope.categories and memory.category not in scope.categories:
        add("category", memory.category, scope.categories)
    if missing := [tag for tag in scope.tags if tag not in memory.tags]:
        tags = ", ".join(missing)
        found.append((f"it lacks the tags {tags}", f"Ask without {tags}, or add them to its tags."))
    found.extend(_find_unmet_times(memory.created_at, scope))
    found.extend(_find_unmet_validity(memory, scope.valid_at))
    return found


def _find_unmet_validity(memory: Memory, at: datetime | None) -> list[tuple[str, str]]:
    remedy = "Change its valid_from or valid_until, or ask `as_of` a moment when it was valid."
    if at is not None and memory.valid_from is not None and at < memory.valid_from:
        return [(f"it is not valid before {memory.valid_from.isoformat()}", remedy)]
    if at is not None and memory.valid_until is not None and at >= memory.valid_until:
        return [(f"it expired at {memory.valid_until.isoformat()}", remedy)]
    return []


def _find_unmet_times(at: datetime, scope: Scope) -> list[tuple[str, str]]:
    stored = f"it was stored at {at.isoformat()}"
    found: list[tuple[str, str]] = []
    if scope.since is not None and at < scope.since:
        found.append(
            (f"{stored}, before {scope.since.isoformat()}", "Ask with an earlier `since`.")
        )
    if scope.until is not None and at >= scope.until:
        found.append(
            (f"{stored}, not before {scope.until.isoformat()}", "Ask with a later `until`.")
        )
    return found
