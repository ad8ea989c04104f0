"""Find the concepts of an owner's graph that a query names: there a walk starts."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from recollect.core.graph.query_names import runs, select_names
from recollect.core.graph.walk import find_names
from recollect.core.recall.request import Declined
from recollect.ports.graph import ConceptGraph
from recollect.usecases.tasks import analyze_text

NO_NAME: Final = Declined("skipped", "the query names no concept", "no_concept")
UNKNOWN: Final = Declined(
    "skipped", "the query names no concept that the graph knows", "unknown_concept"
)
HUBS: Final = Declined(
    "skipped", "the query names nothing that tells memories apart in the graph", "unknown_concept"
)


async def find_named_concepts(graph: ConceptGraph, owner: str, query: str) -> list[UUID] | Declined:
    """Find concepts by capitalized names or code or, if none of these is known, by words."""
    named = await analyze_text(len(query), find_names, query)
    if named.is_telling:
        known = await graph.named(owner, named.keys)
        if known:
            return list(known.values())
    concepts = await _by_words(graph, owner, query)
    return concepts or (UNKNOWN if named.is_telling else NO_NAME)


async def _by_words(graph: ConceptGraph, owner: str, query: str) -> list[UUID]:
    found = await analyze_text(len(query), runs, query)
    if not found:
        return []
    known = await graph.written(owner, {run.key for run in found})
    keys = select_names(found, {key: name for key, (_, name) in known.items()})
    return list(dict.fromkeys(known[key][0] for key in keys))
