"""Have a language model read some memories for the concept graph.

Texts of one owner go together and of no other; none is sensitive, since the queue holds none that
is. What the model said of a text is kept with it, so that the same text is not sent twice; what it
did not answer is tried again. A day's calls are counted before they are made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from recollect.core.errors import ModelUnavailable, RecollectError
from recollect.core.graph.extraction import BY_MODEL, Extraction, ExtractionJob
from recollect.core.graph.triples import extraction_of
from recollect.ports.graph import FactReader
from recollect.usecases.graph.extract import Extracted, GraphContext, give_back

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
