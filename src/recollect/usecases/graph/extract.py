"""Read some memories for the concept graph, and compare some names with the others.

By rules first: that is quick and costs nothing, so that every memory is soon in the graph. Where a
language model is asked as well, what it finds takes the place of what the rules found. A text that
cannot be read is counted against that text alone; a model that cannot work is another matter.
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

# Have a language model read some memories for the concept graph. Texts of one owner go together and
# of no other; none is sensitive, since the queue holds none that is. What the model said of a text
# is kept with it, so that the same text is not sent twice; what it did not answer is tried again. A
# day's calls are counted before they are made.

_NOT_ANSWERED = "the language model said nothing usable of it"


async def read_batch(context: GraphContext) -> Extracted | None:
    """Let the language model read some memories that rules have read; None when none waits.

    ModelUnavailable when it cannot be asked now: nothing is counted against a text then.
    """
    if context.reader is None:
        return None
    claimed = await context.store.claim(BY_MODEL, context.reader.batch)
    if not claimed:
        return None
    jobs = [job for job in claimed if job.owner == claimed[0].owner]
    try:
        await context.store.give_back([job for job in claimed if job not in jobs])
        answers = await _answers(context, context.reader, jobs)
    except (asyncio.CancelledError, RecollectError):
        await give_back(context, jobs)
        raise
    done = await asyncio.to_thread(_extractions, jobs, answers)
    kept = await context.store.finish(done, BY_MODEL) if done else 0
    missing = [job for job in jobs if job.ticket not in answers]
    if missing:
        await context.store.fail(missing, _NOT_ANSWERED)
    return Extracted(kept, tuple(job.memory_id for job in missing))


async def _answers(
    context: GraphContext, reader: FactReader, jobs: Sequence[ExtractionJob]
) -> dict[str, object]:
    """What the model says, or has said before, of each text, by ticket."""
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
        for place, answer in read.answers.items():
            answers[asked[place].ticket] = answer
            await store.keep_answer(asked[place], reader.name, answer)
    return answers


def _extractions(
    jobs: Sequence[ExtractionJob], answers: dict[str, object]
) -> list[tuple[ExtractionJob, Extraction]]:
    return [(job, extraction_of(job, answers[job.ticket])) for job in jobs if job.ticket in answers]


RULES_BATCH: Final = 32
# Names are short: a batch is one call of the model and four statements, whatever its size.
NAMES_BATCH: Final = 256
_MAX_NEIGHBOURS: Final = 20


@dataclass(frozen=True, slots=True)
class GraphContext:
    """What filling the graph needs. Without `embedders` names are compared by their form alone;
    without a `reader` memories are read by rules alone. `calls` is how often the reader may be
    asked a day; `yield_to_callers` is awaited before each text, and `rules` read it.
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
    """A batch was read: so many memories are in the graph, and these could not be read."""

    kept: int
    failed: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """Names were compared: so many, of which so many turned out to mean a known concept."""

    names: int
    merged: int


async def extract_batch(context: GraphContext, seconds: float = inf) -> Extracted | None:
    """Read some memories by rules; None when there is nothing to read just now. What is not begun
    after so many seconds is given back.
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
        # In a thread: other requests of a server are answered between its steps.
        return await asyncio.to_thread(context.rules, job)
    except Exception as error:  # noqa: BLE001  # whatever one text provokes, the others go on
        return safe_message(error)


async def compare_batch(context: GraphContext) -> Compared | None:
    """Compare some names with those before them; None when no name waits, or none can be compared
    here.
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
        return None  # the worker that embeds memories tells of it
    at_once = embedder.at_once([concept.name for concept in names])
    names = names[:at_once]  # the rest is read again
    vectors = await embedder.embed_documents([concept.name for concept in names])
    named = list(zip(names, vectors, strict=True))
    await context.store.keep_vectors(space, named)
    neighbours = await context.store.nearest(
        space, named, least=MIN_NEAR_SIMILARITY, limit=_MAX_NEIGHBOURS
    )
    stay: list[tuple[PendingConcept, Sequence[Neighbour]]] = []
    for concept, near in zip(names, neighbours, strict=True):
        found = resolve(concept.name, near)
        if found.same is None or not await context.store.merge(
            concept.owner, found.same.id, concept.id, by_hand=False
        ):
            stay.append((concept, found.near))
    await context.store.save_neighbours(space, stay)
    return Compared(len(names), len(names) - len(stay))
