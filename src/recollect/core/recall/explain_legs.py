"""What keeps a memory out of one leg's answer, and what would bring it in there.

Pure, like `explain.py`: `usecases/recall/why.py` collects the facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from recollect.core.memory.memory import Memory
from recollect.core.recall.explain import MAX_DEPTH_SETTING, LegFacts, Obstacle, ObstacleKind
from recollect.core.recall.request import MAX_LIMIT, LegName, Reason, RecallRequest
from recollect.core.recall.settings import RecallSettings

_Found = tuple[ObstacleKind, str, str]

_WORKER: Final = "Let the worker run (`recollect worker`); `recollect doctor` shows how many wait."
_UNSENT: Final = "`recollect sync` sends it to the server, whose legs then find it."
_UNREACHED: Final = (
    "Name what it mentions, or write what connects it to the query into its text or tags; "
    "`recollect doctor` shows whether memories wait to be read for the graph."
)
_NARROWER: Final = "Ask more precisely, or within a narrower scope."
# Remedies for a leg that had no answer to this query, although nothing is wrong with it.
_DECLINED: Final[Mapping[tuple[LegName, Reason], str]] = {
    ("dense", "unsent"): _UNSENT,
    ("graph", "unsent"): _UNSENT,
    ("dense", "past"): "Omit --as-of.",
    ("dense", "nothing_embedded"): _WORKER,
    ("dense", "sensitive_query"): "Ask without marking the query as sensitive, and without "
    "anything that looks like a secret; or use a local model.",
    ("graph", "sensitive_query"): "Ask without marking the query as sensitive, and without "
    "anything that looks like a secret.",
    ("graph", "no_concept"): "Name someone or something that the memory mentions, as it is "
    "written there.",
    ("graph", "unknown_concept"): "Name someone or something that the memory mentions; "
    "`recollect graph show NAME` says whether the graph knows it.",
    ("graph", "other_order"): "Sort by relevance.",
    ("graph", "nothing_found"): "Ask with words that some memory contains.",
    ("graph", "being_read"): "Ask again in a moment.",
}


def leg_obstacle(
    name: LegName,
    facts: LegFacts,
    memory: Memory,
    request: RecallRequest,
    deeper: int | None = None,
) -> Obstacle | None:
    """Return what keeps a memory out of one leg's answer, if anything does. `deeper` is its place
    in the whole order if each leg returned as many candidates as its rank in this one; None if that
    was not tried, or it has no such place.
    """
    found: _Found | None
    if memory.is_sensitive and name != "lexical" and memory.deleted_at is None:
        found = _explain_sensitive(name)  # whatever the leg's status
    elif facts.status == "ran":
        found = _explain_not_found(name, facts, memory, request, deeper)
    else:
        found = _explain_not_asked(name, facts, request)
    if found is None:
        return None
    kind, what, remedy = found
    return Obstacle(kind, what, remedy, name)


def _explain_sensitive(name: LegName) -> _Found:
    lacks = "has no vector" if name == "dense" else "is not read for the graph"
    return (
        "sensitive",
        f"it is sensitive: it {lacks} and is found by words only",
        "Ask with words that it contains, or give it expanded keywords.",
    )


def _explain_not_asked(name: LegName, facts: LegFacts, request: RecallRequest) -> _Found:
    because = f": {facts.note}" if facts.note else ""
    remedy = None if facts.reason is None else _DECLINED.get((name, facts.reason))
    doctor = "Run `recollect doctor` to see which legs are available and how to add more."
    if facts.status == "skipped" and facts.weight == 0.0:
        return _explain_no_weight(name, request)
    if facts.status == "skipped":
        return "leg_skipped", f"the {name} leg was not asked{because}", remedy or doctor
    if facts.status == "absent":
        return "leg_absent", f"there is no {name} leg here{because}", remedy or doctor
    if facts.status == "late":
        return (
            "leg_late",
            f"the {name} leg did not answer in time",
            "Ask again; `recollect doctor` shows how fast the store is.",
        )
    return (
        "leg_failed",
        f"the {name} leg failed{because}",
        "Run `recollect doctor` for the cause and the fix.",
    )


def _explain_no_weight(name: LegName, request: RecallRequest) -> _Found:
    """The weight in the request overrides the settings, whatever they say."""
    default = f"{RecallSettings().weights()[name]:g}"
    if name in request.weights:
        return (
            "leg_skipped",
            f"the request gives the {name} leg weight 0, so it does not run",
            f"Ask with a weight for it (`--weight {name}={default}` is the default).",
        )
    return (
        "leg_skipped",
        f"the settings give the {name} leg weight 0, so it does not run",
        f"Give it its default weight: `recollect settings set {name}_weight {default}`.",
    )


def _explain_not_found(
    name: LegName, facts: LegFacts, memory: Memory, request: RecallRequest, deeper: int | None
) -> _Found | None:
    if facts.score is None:
        return _explain_no_match(name, facts, memory, request)
    if facts.rank is None:
        return (
            "below_floor",
            f"the {name} leg scores it {facts.score:.4g} and stops after {facts.searched:,} others",
            _NARROWER,
        )
    if facts.rank > facts.depth:
        return (
            "below_depth",
            f"it has rank {facts.rank:,} in the {name} leg, which is asked for {facts.depth}",
            _look_deeper(facts.rank, request.limit, deeper),
        )
    return None


def _explain_no_match(
    name: LegName, facts: LegFacts, memory: Memory, request: RecallRequest
) -> _Found | None:
    if memory.deleted_at is not None:
        return None  # no leg sees a forgotten memory; this is reported once
    if name == "lexical":
        return (
            "no_match",
            "it shares no distinctive word with the query",
            "Ask with its words, put them into the expanded query, or give it expanded keywords.",
        )
    if name == "graph":
        return "no_match", "the graph leg does not reach it", _UNREACHED
    if not request.query:
        return "no_match", "the query contains no text that could be embedded", "Ask with words."
    if facts.parked is not None:
        because = f", the last time with: {facts.parked}" if facts.parked else ""
        return (
            "parked",
            f"its text could not be embedded and is parked after many attempts{because}",
            "Fix the cause, then retry it: `recollect worker --retry`.",
        )
    return "not_embedded", "its present text is not embedded yet", _WORKER


def _look_deeper(rank: int, limit: int, deeper: int | None) -> str:
    """Advise a greater depth, if that helps: the last of a leg's list counts for little in any
    fusion.
    """
    command = f"`recollect settings set depth {rank}`"
    if deeper is None or rank > MAX_DEPTH_SETTING or deeper > min(rank, MAX_LIMIT):
        return _NARROWER
    if deeper <= limit:
        return f"Ask more precisely, or look deeper: {command}."
    return (
        f"Ask more precisely, or look deeper, {command}, and ask with a limit of {deeper} or more."
    )
