"""Helpers for tests of the concept graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from tests.conformance import samples
from tests.conformance.samples import OWNER
from tests.conformance.stores import FullStore

from recollect.core.graph.concepts import concept_key
from recollect.core.graph.extraction import (
    BY_RULES,
    Extraction,
    Fact,
    join_extraction,
    read_by_rules,
    to_mention,
)
from recollect.core.graph.model import Neighbourhood
from recollect.core.memory.memory import Memory

# Long ago: what is true now must not depend on when a test runs.
BEGAN = datetime(2020, 1, 1, tzinfo=UTC)
Triple = tuple[str, str, str]


def at(minutes: int) -> datetime:
    return BEGAN + timedelta(minutes=minutes)


def memory(number: int, content: str = "something to know", **fields: Any) -> Memory:
    """Return the memory with id `number`, stored that many minutes after the beginning."""
    then = replace(samples.memory(number, content), created_at=at(number), updated_at=at(number))
    return replace(then, **fields)


def stated(
    *triples: Triple, valid_from: datetime | None = None, valid_to: datetime | None = None
) -> Extraction:
    """Return what a reader finds in a memory that states these triples."""
    mentions = [to_mention(name) for source, _, target in triples for name in (source, target)]
    facts = [
        Fact(concept_key(source), relation, concept_key(target), valid_from, valid_to)
        for source, relation, target in triples
    ]
    return join_extraction(tuple(mention for mention in mentions if mention), tuple(facts))


async def read_all(store: FullStore, by: int = BY_RULES) -> int:
    """Read every waiting memory by the rules."""
    kept = 0
    while jobs := await store.graph.claim(by, 100):
        kept += await store.graph.finish([(job, read_by_rules(job)) for job in jobs], by)
    return kept


async def read_as(
    store: FullStore, extractions: Mapping[int, Extraction], by: int = BY_RULES
) -> int:
    """Read waiting memories with the given results, in the order of the mapping."""
    jobs = {job.memory_id: job for job in await store.graph.claim(by, 100)}
    kept = 0
    for number, extraction in extractions.items():
        kept += await store.graph.finish([(jobs[UUID(int=number)], extraction)], by)
    return kept


async def concept(store: FullStore, name: str, owner: str = OWNER) -> UUID | None:
    found = await store.graph.named(owner, [concept_key(name)])
    return found.get(concept_key(name))


async def around(
    store: FullStore, name: str, as_of: datetime | None = None, *, history: bool = False
) -> Neighbourhood:
    id = await concept(store, name)
    assert id is not None, name
    found = await store.graph.neighbourhood(OWNER, id, 50, as_of, history=history)
    assert found is not None
    return found


def list_triples(found: Neighbourhood) -> list[Triple]:
    """Return the relationships around a concept, by name, in the order of their time."""
    return [
        (found.labels[edge.source], edge.relation, found.labels[edge.target])
        for edge in sorted(found.relationships, key=lambda one: (one.valid_from, one.relation))
    ]
