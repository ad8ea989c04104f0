"""What the web page needs beyond recall: tables, versions, growth, and a preview of a hook."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Query

from recollect.core.agents.injection import RECALL_SENTENCE, block, tokens
from recollect.core.errors import Conflict
from recollect.core.memory.listing import Table
from recollect.core.memory.memory import Memory
from recollect.shells.api.context import Mine, Reference, needs
from recollect.shells.api.openapi import OWNED, PREFIX, REFERRED, SENT, example, problems
from recollect.shells.asgi.problems import MALFORMED
from recollect.usecases.agents.inject import Injection, choose, request_for
from recollect.usecases.memory import browse
from recollect.usecases.memory.change import unforget
from recollect.usecases.memory.transfer import export_chosen
from recollect.usecases.tasks import analyze_text
from recollect.wire.inputs import ExportIn, InjectIn, TableIn
from recollect.wire.memory import MEMORY
from recollect.wire.page import DETAILS, TABLE, ExportOut, GrowthOut, InjectOut, WeekOut
from recollect.wire.problems import KINDS

_WEEKS: Final = 26

router = APIRouter(prefix=PREFIX, tags=["Memories"])


@router.get(
    "/table",
    operation_id="table_of_memories",
    **needs("table"),
    summary="Filter and sort",
    response_model=TABLE.shape,
    responses={200: example("table", "The rows."), **problems(*SENT)},
)
async def table_of_memories(query: Annotated[TableIn, Query()], mine: Mine) -> Table:
    """Read any rows of a filtered and sorted table, and their total number. Concurrent writes shift
    rows; to read everything once, use the listing with its cursor.
    """
    return await browse.table(mine.context_for("table"), mine.owner, query.to_listing())


@router.get(
    "/memories/{reference}/details",
    operation_id="memory_details",
    **needs("details"),
    summary="Read with history",
    response_model=DETAILS.shape,
    responses={200: example("details", "The memory."), **problems(*SENT, *REFERRED)},
)
async def memory_details(reference: Reference, mine: Mine) -> browse.Details:
    """Read one memory, forgotten or not, with its former versions, its concepts and the state of
    its vector.
    """
    return await browse.details(mine.context_for("details"), mine.owner, reference)


@router.post(
    "/memories/{reference}/restore",
    operation_id="restore_memory",
    **needs("restore_forgotten"),
    summary="Restore",
    response_model=MEMORY.shape,
    responses={
        200: example("memory", "The memory, no longer forgotten."),
        **problems(*SENT, *REFERRED, KINDS[Conflict]),
    },
)
async def restore_memory(reference: Reference, mine: Mine) -> Memory:
    """Undo forgetting a memory. One that was erased cannot be restored."""
    return await unforget(mine.context_for("restore_forgotten"), mine.owner, reference)


@router.post(
    "/memories:export",
    operation_id="export_memories",
    **needs("export"),
    summary="Export",
    responses={200: example("export", "The lines."), **problems(*SENT, MALFORMED)},
)
async def export_memories(sent: ExportIn, mine: Mine) -> ExportOut:
    """Export up to 500 memories, forgotten or not, in the format of `recollect export`. Unknown ids
    are ignored.
    """
    context = mine.context_for("export")
    chosen, taken = await export_chosen(context, mine.owner, sent.ids, sensitive=sent.sensitive)
    return ExportOut.from_memories(chosen, taken)


@router.get(
    "/stats/growth",
    operation_id="growth",
    **needs("growth"),
    summary="Growth by week",
    responses={200: example("growth", "The weeks, oldest first."), **problems(*OWNED)},
)
async def growth(mine: Mine) -> GrowthOut:
    """Count the current memories by the week they were stored in, for the last 26 weeks."""
    counted = await browse.growth(mine.context_for("growth"), mine.owner, _WEEKS)
    return GrowthOut(weeks=[WeekOut(week=week, memories=many) for week, many in counted.items()])


@router.post(
    "/recall/injection",
    operation_id="preview_injection",
    **needs("recall"),
    summary="Preview a hook",
    responses={
        200: example("inject", "What a hook would add to the prompt."),
        **problems(*SENT, MALFORMED),
    },
)
async def preview_injection(sent: InjectIn, mine: Mine) -> InjectOut:
    """Preview what a hook with default settings would add to this prompt in a new session."""
    injection = Injection()
    request = await analyze_text(len(sent.prompt), request_for, sent.prompt, sent.project)
    if request is not None:
        found = await mine.recall(request)
        injection = await asyncio.to_thread(choose, request.query, found.hits)
    text = block(RECALL_SENTENCE, injection.memories)
    return InjectOut.from_injection(injection, text, tokens(text))
