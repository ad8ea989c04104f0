"""Extract concepts from memories for the concept graph, and compare their names.

Rules read first: that is quick and costs nothing, so that every memory is soon in the graph. If a
language model is configured, what it finds replaces what the rules found. A text that cannot be
read counts as a failure of that text alone; a failing model counts against no text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Final
from uuid import UUID

from recollect.core.admin.modes import GraphMode
from recollect.core.admin.timeouts import TIMEOUTS, Timeouts
from recollect.core.errors import ModelUnavailable, RecollectError
from recollect.core.graph.extraction import (
    BY_MODEL,
    BY_RULES,
    Extraction,
    ExtractionJob,
    read_by_rules,
)
from recollect.core.graph.model import ExtractionProgress
from recollect.core.graph.resolution import MIN_NEAR_SIMILARITY, Neighbour, PendingConcept, resolve
from recollect.core.graph.triples import extraction_of
from recollect.core.privacy.redaction import safe_message
from recollect.ports.embedding import Embedders
from recollect.ports.graph import FactReader, GraphStore
from recollect.usecases.priority import Yield, no_yield

# Have a language model read some memories for the concept graph. A request holds texts of one owner
# only; none is sensitive, since the queue holds none that is. The model's answer is stored with
# each text, so that no text is sent twice; a text without an answer is retried. Calls are counted
# against the day's budget before they are made.

_NOT_ANSWERED = "the language model returned nothing usable for this text"


async def read_batch(context: GraphContext) -> Extracted | None:
    """Let the language model read some memories that rules have read; return None if none waits.

    Raise ModelUnavailable if it cannot be called now; no text is counted as failed then.
    """
    if context.reader is None:
        return None
    claimed = await context.store.claim(BY_MODEL, context.reader.batch)
    if not claimed:
        return None
    jobs = [job for job in claimed if job.owner == claimed[0].owner]
    try:
        await context.store.give_back([job for job in claimed if job not in jobs])
        answers = await _read_answers(context, context.reader, jobs)
    except (asyncio.CancelledError, RecollectError):
        await give_back(context, jobs)
        raise
    done = await asyncio.to_thread(_parse_answers, jobs, answers)
    kept = await context.store.finish(done, BY_MODEL) if done else 0
    missing = [job for job in jobs if job.ticket not in answers]
    if missing:
        await context.store.fail(missing, _NOT_ANSWERED)
    return Extracted(kept, tuple(job.memory_id for job in missing))


async def _read_answers(
    context: GraphContext, reader: FactReader, jobs: Sequence[ExtractionJob]
) -> dict[str, object]:
    """Return the model's answer for each text, new or stored, by ticket."""
    store = context.store
    tickets = [job.ticket for job in jobs]
    answers = await store.answers(jobs[0].owner, reader.name, tickets)
    asked = [job for job in jobs if job.ticket not in answers]
    if asked:
        if not await store.spend(context.calls):
            raise ModelUnavailable(
                f"today's {context.calls} calls to the language model are used up",
                remedy="Wait until tomorrow, or raise RECOLLECT_GRAPH_LLM_CALLS.",
            )
        read = await reader.read([job.content for job in asked])
        await store.spent(read.tokens)
        for index, answer in read.answers.items():
            answers[asked[index].ticket] = answer
            await store.keep_answer(asked[index], reader.name, answer)
    return answers


def _parse_answers(
    jobs: Sequence[ExtractionJob], answers: dict[str, object]
) -> list[tuple[ExtractionJob, Extraction]]:
    return [(job, extraction_of(job, answers[job.ticket])) for job in jobs if job.ticket in answers]


RULES_BATCH: Final = 32
# Names are short: a batch is one call to the model and four statements, whatever its size.
NAMES_BATCH: Final = 256
_MAX_NEIGHBOURS: Final = 20


@dataclass(frozen=True, slots=True)
class GraphContext:
    """What filling the graph needs. Without `embedders` names are compared by spelling alone;
    without a `reader` memories are read by rules alone. `calls` is the reader's daily budget.
    `yield_to_callers` is awaited before each text; `rules` extracts from it.
    """

    store: GraphStore
    mode: GraphMode = "rules"
    embedders: Embedders | None = None
    reader: FactReader | None = None
    calls: int = 0
    yield_to_callers: Yield = no_yield
    rules: Callable[[ExtractionJob], Extraction] = read_by_rules
    timeouts: Timeouts = TIMEOUTS

    @property
    def required_level(self) -> int:
        """The extraction level at which a memory needs no further reading."""
        return BY_RULES if self.reader is None else BY_MODEL

    async def progress(self, owner: str | None = None) -> ExtractionProgress:
        return await self.store.progress(self.required_level, owner)


@dataclass(frozen=True, slots=True)
class Extracted:
    """The outcome of a batch: how many memories were added to the graph, and which failed."""

    kept: int
    failed: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """How many names were compared, and how many turned out to mean a known concept."""

    names: int
    merged: int


async def extract_batch(context: GraphContext, seconds: float = inf) -> Extracted | None:
    """Read some memories by rules; return None if there is nothing to read now. Jobs not begun
    after `seconds` are given back.
    """
    jobs = await context.store.claim(BY_RULES, RULES_BATCH)
    if not jobs:
        return None
    clock = asyncio.get_running_loop().time
    until = clock() + seconds
    read: list[tuple[ExtractionJob, Extraction | str]] = []
    try:
        for job in jobs:
            if read and clock() >= until:
                break
            read.append((job, await _read(context, job)))
    except asyncio.CancelledError:
        await give_back(context, jobs)
        raise
    if late := jobs[len(read) :]:
        await give_back(context, late)
    done = [(job, found) for job, found in read if isinstance(found, Extraction)]
    kept = await context.store.finish(done, BY_RULES) if done else 0
    failed = [(job, found) for job, found in read if isinstance(found, str)]
    for job, error in failed:
        await context.store.fail([job], error)
    return Extracted(kept, tuple(job.memory_id for job, _ in failed))


async def give_back(context: GraphContext, jobs: Sequence[ExtractionJob]) -> None:
    with suppress(RecollectError, TimeoutError):
        async with asyncio.timeout(context.timeouts.give_back):
            await context.store.give_back(jobs)


async def _read(context: GraphContext, job: ExtractionJob) -> Extraction | str:
    await context.yield_to_callers()
    try:
        # In a thread, so that a server can answer other requests meanwhile.
        return await asyncio.to_thread(context.rules, job)
    except Exception as error:  # noqa: BLE001  # one bad text must not stop the others
        return safe_message(error)


async def compare_batch(context: GraphContext) -> Compared | None:
    """Compare some names with earlier ones; return None if no name waits, or if they cannot be
    compared here.
    """
    if context.embedders is None:
        return None
    space = await context.store.comparing_space()
    if space is None:
        return None
    names = await context.store.to_compare(space, NAMES_BATCH)
    if not names:
        return None
    embedder = await context.embedders.embedder(space.embedder)
    if embedder.space.name != space.space.name:
        return None  # the worker that embeds memories reports it
    at_once = embedder.at_once([concept.name for concept in names])
    names = names[:at_once]  # the others are selected again by the next batch
    vectors = await embedder.embed_documents([concept.name for concept in names])
    named = list(zip(names, vectors, strict=True))
    await context.store.keep_vectors(space, named)
    neighbours = await context.store.nearest(
        space, named, least=MIN_NEAR_SIMILARITY, limit=_MAX_NEIGHBOURS
    )
    distinct: list[tuple[PendingConcept, Sequence[Neighbour]]] = []
    for concept, near in zip(names, neighbours, strict=True):
        found = resolve(concept.name, near)
        if found.same is None or not await context.store.merge(
            concept.owner, found.same.id, concept.id, by_hand=False
        ):
            distinct.append((concept, found.near))
    await context.store.save_neighbours(space, distinct)
    return Compared(len(names), len(names) - len(distinct))
