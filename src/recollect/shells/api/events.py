"""Live updates: a stream of server-sent events that reports when an owner's memories, the proposals
about them or the settings have changed.

The events carry no text: a page reloads what it shows. The store is polled every few seconds, since
other processes write to it, too; the cost of these queries does not depend on how much is stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import StreamingResponse

from recollect.core.errors import StoreError
from recollect.shells.api.context import Mine, needs
from recollect.shells.api.openapi import PREFIX
from recollect.usecases.context import Context
from recollect.usecases.curation.review import list_proposals

_POLL_SECONDS: Final = 2.0
# Then the page reconnects, so that a revoked key is noticed and no stream lives forever.
_MAX_POLLS: Final = 300

router = APIRouter(prefix=PREFIX)


@router.get("/events", **needs("watch"), include_in_schema=False)
async def events(request: Request, mine: Mine) -> StreamingResponse:
    stopping: asyncio.Event = request.app.state.stopping
    stream = _stream_changes(mine.context_for("watch"), mine.owner, stopping)
    return StreamingResponse(
        stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )


async def _stream_changes(
    context: Context, owner: str, stopping: asyncio.Event
) -> AsyncIterator[str]:
    """Yield an event at the start, and one after every change."""
    former = object()  # unlike any mark
    for _ in range(_MAX_POLLS):
        try:
            latest = await _read_mark(context, owner)
        except StoreError:
            return
        yield ": still here\n\n" if latest == former else "event: changed\ndata: {}\n\n"
        former = latest
        with suppress(TimeoutError):
            async with asyncio.timeout(_POLL_SECONDS):
                await stopping.wait()
        if stopping.is_set():
            return


async def _read_mark(context: Context, owner: str) -> object:
    """Return a value that differs after every change of what a page shows."""
    return (
        await context.store.change_mark(owner),
        dict(await context.settings.read_settings()),
        await _read_proposals_mark(context, owner),
    )


async def _read_proposals_mark(context: Context, owner: str) -> object:
    if context.curation_counts is not None:
        return await context.curation_counts(owner)
    if context.curation is None:
        return None
    # The counts would also change with proposals that a key of a project must not see.
    return [(proposal.id, proposal.state) for proposal in await list_proposals(context, owner)]
