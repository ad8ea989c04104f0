"""What the web page needs beyond recall: tables, versions, growth, and a preview of a hook."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Annotated, Final

from fastapi import APIRouter, Query

from recollect.core.agents.injection import RECALL_SENTENCE, block, tokens
from recollect.core.errors import Conflict
from recollect.core.memory.listing import Table
from recollect.core.memory.memory import Memory
from recollect.shells.api import examples
from recollect.shells.api.context import READ, WRITE, Mine, Reference, TheKey, TheServer, TheShell
from recollect.shells.api.openapi import OWNED, PREFIX, REFERRED, SENT, problems
from recollect.shells.asgi.problems import MALFORMED
from recollect.usecases.agents.inject import Injection, choose, request_for
from recollect.usecases.memory import browse
from recollect.usecases.memory.export import Taken, export_chosen
from recollect.usecases.tasks import analyze_text
from recollect.wire.inputs import ExportIn, InjectIn, TableIn
from recollect.wire.memory import MEMORY
from recollect.wire.page import DETAILS, TABLE, ExportOut, GrowthOut, InjectOut, WeekOut
from recollect.wire.problems import KINDS

_WEEKS: Final = 26
_TABLE: Final = TABLE.encode(Table((examples.A_MEMORY,), total=1))
_DETAILS: Final = DETAILS.encode(
    browse.Details(
        examples.A_LINKED, (examples.A_MEMORY,), concepts=("staging database",), vector="embedded"
    )
)
_EXPORT: Final = ExportOut.from_memories([examples.A_MEMORY], Taken(1))
_GROWTH: Final = GrowthOut(weeks=[WeekOut(week=date(2026, 3, 2), memories=12)])
_INJECT: Final = InjectOut(
    text="<recollect-memories>…</recollect-memories>",
    tokens=120,
    memories=[examples.A_MEMORY.id],
    found=3,
    sensitive=0,
    below=2,
    unfit=0,
)

router = APIRouter(prefix=PREFIX, tags=["Memories"])


@router.get(
    "/table",
    operation_id="table_of_memories",
    **READ,
    summary="Filter and sort",
    response_model=TABLE.shape,
    responses={200: examples.of(_TABLE, "The rows."), **problems(*SENT)},
)
async def table_of_memories(
    query: Annotated[TableIn, Query()], server: TheServer, key: TheKey
) -> Table:
    """Any rows of a filtered and sorted table, and how many there are. Concurrent writes shift
    rows; to read everything once, use the listing with its cursor.
    """
    return await browse.table(server.context_for(key), key.owner, query.to_listing())


@router.get(
    "/memories/{reference}/details",
    operation_id="memory_details",
    **READ,
    summary="Read with history",
    response_model=DETAILS.shape,
    responses={200: examples.of(_DETAILS, "The memory."), **problems(*SENT, *REFERRED)},
)
async def memory_details(reference: Reference, server: TheServer, key: TheKey) -> browse.Details:
    """One memory, forgotten or not, with its former versions, its concepts and the state of its
    vector.
    """
    return await browse.details(server.context_for(key), key.owner, reference)


@router.post(
    "/memories/{reference}/restore",
    operation_id="restore_memory",
    **WRITE,
    summary="Restore",
    response_model=MEMORY.shape,
    responses={
        200: examples.of(examples.MEMORY, "The memory, no longer forgotten."),
        **problems(*SENT, *REFERRED, KINDS[Conflict]),
    },
)
async def restore_memory(
    reference: Reference, server: TheServer, key: TheKey, shell: TheShell
) -> Memory:
    """Undo forgetting a memory. One that was erased cannot be restored."""
    server.spend_writes(key)
    return await browse.restore(server.context_for(key, shell), key.owner, reference)


@router.post(
    "/memories:export",
    operation_id="export_memories",
    **READ,
    summary="Export",
    responses={200: examples.of(_EXPORT, "The lines."), **problems(*SENT, MALFORMED)},
)
async def export_memories(sent: ExportIn, server: TheServer, key: TheKey) -> ExportOut:
    """Up to 500 memories, forgotten or not, as `recollect export` writes them. Ids of memories that
    do not exist are ignored.
    """
    chosen, taken = await export_chosen(
        server.context_for(key), key.owner, sent.ids, sensitive=sent.sensitive
    )
    return ExportOut.from_memories(chosen, taken)


@router.get(
    "/stats/growth",
    operation_id="growth",
    **READ,
    summary="Growth by week",
    responses={200: examples.of(_GROWTH, "The weeks, oldest first."), **problems(*OWNED)},
)
async def growth(server: TheServer, key: TheKey) -> GrowthOut:
    """How many of the current memories were stored in each of the last 26 weeks."""
    counted = await browse.growth(server.context_for(key), key.owner, _WEEKS)
    return GrowthOut(weeks=[WeekOut(week=week, memories=many) for week, many in counted.items()])


@router.post(
    "/recall/injection",
    operation_id="preview_injection",
    **READ,
    summary="Preview a hook",
    responses={
        200: examples.of(_INJECT, "What a hook would add to the prompt."),
        **problems(*SENT, MALFORMED),
    },
)
async def preview_injection(sent: InjectIn, mine: Mine) -> InjectOut:
    """What a hook with default settings would add to this prompt in a new session."""
    injection = Injection()
    request = await analyze_text(len(sent.prompt), request_for, sent.prompt, sent.project)
    if request is not None:
        found = await mine.recall(request)
        injection = await asyncio.to_thread(choose, request.query, found.hits)
    text = block(RECALL_SENTENCE, injection.memories)
    return InjectOut.from_injection(injection, text, tokens(text))
