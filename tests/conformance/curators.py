"""Curate a store, and inspect the result."""

from __future__ import annotations

from dataclasses import replace

from recollect.core.memory.memory import Draft, Memory
from recollect.core.recall.request import RecallRequest
from recollect.usecases.context import Context
from recollect.usecases.curation.propose import CurationContext, Examined
from recollect.usecases.memory.remember import remember
from recollect.usecases.recall.recall import recall
from recollect.usecases.workers.backoff import BackoffEvent
from recollect.usecases.workers.steps import CurationStep
from recollect.usecases.workers.worker import Worker

ADA = "ada"


def curator(context: Context, **fields: object) -> CurationContext:
    assert context.curation is not None
    curation = CurationContext(context, context.curation(), "propose", 0.8)
    return replace(curation, **fields)  # type: ignore[arg-type]  # any field


async def work(context: Context, **fields: object) -> list[Examined | BackoffEvent]:
    """Examine everything that changed, and return what the step reported."""
    events: list[Examined | BackoffEvent] = []
    step = CurationStep(curator(context, **fields), events.append)
    assert await Worker(step).work_off() == 0
    return events


async def store(context: Context, *contents: str, **fields: object) -> list[Memory]:
    return [
        await remember(context, ADA, replace(Draft(content), **fields))  # type: ignore[arg-type]  # any field
        for content in contents
    ]


async def recall_contents(context: Context, query: str) -> list[str]:
    found = await recall(context, ADA, RecallRequest(query, limit=5))
    return [hit.memory.content for hit in found.hits]


async def current(context: Context, memory: Memory) -> Memory:
    found = await context.store.get(ADA, memory.id)
    assert found is not None
    return found


def is_as_before(now: Memory, before: Memory) -> bool:
    return replace(now, version=before.version, updated_at=before.updated_at) == before
