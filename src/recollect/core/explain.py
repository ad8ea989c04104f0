"""Why a memory was recalled or was not: for each leg and for the whole, what stood in the way and
what would bring it in.

Pure: `usecases/why.py` finds the facts out, here they are given words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from recollect.core.ids import short
from recollect.core.memory import Memory, Scope
from recollect.core.recall import MAX_LIMIT, LegName, LegStatus, RecallRequest
from recollect.core.text import clean_query

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
    "no_match",
    "below_depth",
    "below_floor",
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
    """What one leg says of one memory. `score` is known when the leg finds the memory at all;
    `rank` when it is among the first `searched` of the scope, or would be if it were allowed in.
    """

    status: LegStatus
    weight: float
    depth: int
    score: float | None = None
    rank: int | None = None
    searched: int = 0
    note: str | None = None


@dataclass(frozen=True, slots=True)
class WhyLeg:
    """One leg's part in the answer. `contribution` is what it adds to the fused score."""

    facts: LegFacts
    contribution: float | None = None
    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class WhyReport:
    """The answer to "why (not) this memory?". `place` is where it stands in the whole order, or
    would stand if it were allowed in; it is None when no leg brings it within its depth. A memory
    that `stands_for` others is recalled in the place of the best of them. `superseded_by` is who
    stands in the memory's own place. `note` tells people when it
    is not the answer they asked for.
    """

    memory: Memory
    recalled: bool
    place: int | None
    limit: int
    fused: float | None
    bonus: float
    prior: float
    score: float | None
    legs: Mapping[LegName, WhyLeg]
    kept_out: tuple[Obstacle, ...]
    stands_for: tuple[UUID, ...] = ()
    superseded_by: UUID | None = None
    note: str | None = None


def superseded(by: UUID) -> Obstacle:
    return Obstacle(
        "superseded",
        f"it is superseded, and {by} stands in its place",
        f"Read that one: `recollect show {short(by)}`. This one is served again when that one is "
        "forgotten or its link is removed (`recollect unlink`).",
    )


def not_known_then(as_of: datetime) -> Obstacle:
    return Obstacle(
        "not_known_then",
        f"as of {as_of.isoformat()} it was not stored yet or was forgotten, or what it said then "
        "was never seen here",
        "Ask for a later moment, or for none.",
    )


def barred(memory: Memory, request: RecallRequest) -> list[Obstacle]:
    """What keeps a memory from taking part at all, whatever the legs say."""
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
        Obstacle("out_of_scope", what, remedy) for what, remedy in _outside(memory, request.scope)
    )
    if memory.id in request.exclude:
        found.append(
            Obstacle(
                "excluded",
                "the request excludes it, as already in the prompt",
                "Leave its id out of `exclude`.",
            )
        )
    return found


def leg_obstacle(
    name: LegName,
    facts: LegFacts,
    memory: Memory,
    request: RecallRequest,
    deeper: int | None = None,
) -> Obstacle | None:
    """What keeps a memory out of one leg's answer, if anything does. `deeper` is its place in the
    whole order if each leg were asked for as many as its rank in this one, where that was tried.
    """
    ran = facts.status == "ran"
    is_then = request.as_of is not None
    told = (
        _unfound(name, facts, memory, request, deeper)
        if ran
        else _unasked(name, facts, is_then=is_then)
    )
    if told is None:
        return None
    kind, what, remedy = told
    return Obstacle(kind, what, remedy, name)


def below_limit(place: int, limit: int, depth: int, vital: int | None) -> Obstacle:
    """`depth` is what each leg was asked for: a limit above it asks them for more, and what they
    then find more can move the place. `vital` is the place it would have with importance 1, where
    importance counts.
    """
    ways = [f"ask with a limit of {place} or more"] if place <= min(depth, MAX_LIMIT) else []
    if vital is not None and vital <= limit:
        ways.append("raise its importance to 1")
    return Obstacle(
        "below_limit",
        f"it has place {place} in the fused order, and {limit} were asked for",
        f"{', '.join(['Ask more precisely', *ways[:-1]])}, or "
        f"{ways[-1] if ways else 'within a narrower scope'}.",
    )


_Told = tuple[ObstacleKind, str, str]


def _unasked(name: LegName, facts: LegFacts, *, is_then: bool) -> _Told:
    because = f": {facts.note}" if facts.note else ""
    if facts.status == "skipped" and facts.weight == 0.0:
        return (
            "leg_skipped",
            f"the {name} leg has weight 0 and is not run",
            f"Give it a weight: `recollect settings set {name}_weight 1`.",
        )
    if facts.status == "skipped":
        return (
            "leg_skipped",
            f"the {name} leg was not asked{because}",
            "Ask about the present."
            if is_then
            else "Ask without marking the query as sensitive, or use a local model.",
        )
    if facts.status == "absent":
        return (
            "leg_absent",
            f"there is no {name} leg here{because}",
            "`recollect status` and `recollect doctor` say which legs there are, and why.",
        )
    if facts.status == "late":
        return "leg_late", f"the {name} leg did not answer in time", "Ask again; see the doctor."
    return (
        "leg_failed",
        f"the {name} leg failed{because}",
        "`recollect doctor` says what to do about it.",
    )


def _unfound(
    name: LegName, facts: LegFacts, memory: Memory, request: RecallRequest, deeper: int | None
) -> _Told | None:
    if facts.score is None:
        return _unmatched(name, memory, request)
    if facts.rank is None:
        return (
            "below_floor",
            f"the {name} leg scores it {facts.score:.4g} and stops after {facts.searched:,} others",
            "Ask more precisely, or within a narrower scope.",
        )
    if facts.rank > facts.depth:
        return (
            "below_depth",
            _too_deep(name, facts),
            _look_deeper(facts.rank, request.limit, deeper),
        )
    return None


def _unmatched(name: LegName, memory: Memory, request: RecallRequest) -> _Told | None:
    if memory.deleted_at is not None:
        return None  # no leg sees a forgotten memory; that it is forgotten is said once
    if name == "dense" and memory.is_sensitive:
        return (
            "sensitive",
            "it is sensitive: it has no vector and is found by words only",
            "Ask with words that it contains, or give it expanded keywords.",
        )
    if name == "dense" and not clean_query(request.query):
        return "no_match", "the query holds no text that could be embedded", "Ask with words."
    if name == "dense":
        return (
            "not_embedded",
            "its present text is not embedded yet",
            "Let the worker run (`recollect worker`); `recollect status` shows how far it is.",
        )
    if name == "lexical":
        return (
            "no_match",
            "it shares no telling word with the query",
            "Ask with its words, put them into the expanded query, or give it expanded keywords.",
        )
    return "no_match", f"the {name} leg finds no way to it", "Give it tags or expanded keywords."


def _too_deep(name: LegName, facts: LegFacts) -> str:
    return f"it has rank {facts.rank:,} in the {name} leg, which is asked for {facts.depth}"


def _look_deeper(rank: int, limit: int, deeper: int | None) -> str:
    """The last of a leg's list counts for little in any fusion: depth alone may not bring it in."""
    command = f"`recollect settings set depth {rank}`"
    place = limit if deeper is None else deeper
    if rank > MAX_DEPTH_SETTING or place > min(rank, MAX_LIMIT):
        return "Ask more precisely, or within a narrower scope."
    if place <= limit:
        return f"Ask more precisely, or look deeper: {command}."
    return (
        f"Ask more precisely, or look deeper, {command}, and ask with a limit of {place} or more."
    )


def _outside(memory: Memory, scope: Scope) -> list[tuple[str, str]]:
    """Each condition of the scope that the memory does not meet, and the way around it."""
    found: list[tuple[str, str]] = []

    def differs(field: str, has: str | None, wanted: Sequence[str]) -> None:
        named = ", ".join(wanted)
        own = f"{field} is {has}" if has else f"it has no {field}"
        remedy = f"Ask for {field} {has}, or for no {field}." if has else f"Ask for no {field}."
        found.append((f"{own}, and {named} was asked for", remedy))

    if not scope.covers_project(memory.project):
        differs("project", memory.project, [scope.project or "none"])
    if scope.sessions and memory.session not in scope.sessions:
        differs("session", memory.session, scope.sessions)
    if scope.categories and memory.category not in scope.categories:
        differs("category", memory.category, scope.categories)
    if missing := [tag for tag in scope.tags if tag not in memory.tags]:
        tags = ", ".join(missing)
        found.append((f"it lacks the tags {tags}", f"Ask without {tags}, or tag it so."))
    found.extend(_outside_time(memory.created_at, scope))
    return found


def _outside_time(at: datetime, scope: Scope) -> list[tuple[str, str]]:
    told = f"it was stored at {at.isoformat()}"
    found: list[tuple[str, str]] = []
    if scope.since is not None and at < scope.since:
        found.append((f"{told}, before {scope.since.isoformat()}", "Ask with an earlier `since`."))
    if scope.until is not None and at >= scope.until:
        found.append((f"{told}, not before {scope.until.isoformat()}", "Ask with a later `until`."))
    return found
