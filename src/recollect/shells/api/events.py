"""Live updates: a stream of server-sent events that says when an owner's memories, the proposals
about them or the settings have changed.

It carries no text: a page reads again what it shows. The store is asked every few seconds, since
other processes write to it, too; these are queries that do not depend on how much is stored.
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

_SECONDS: Final = 2.0
# Then the page connects again: a revoked key is noticed, and no stream is forgotten.
_MAX_POLLS: Final = 300

router = APIRouter(prefix=PREFIX)


@router.get("/events", **needs("watch"), include_in_schema=False)
async def events(request: Request, mine: Mine) -> StreamingResponse:
    stopping: asyncio.Event = request.app.state.stopping
    stream = _changes(mine.context_for("watch"), mine.owner, stopping)
    return StreamingResponse(
        stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )


async def _changes(context: Context, owner: str, stopping: asyncio.Event) -> AsyncIterator[str]:
    """An event at the start, and one after every change."""
    former = object()  # unlike any mark
    for _ in range(_MAX_POLLS):
        try:
            latest = await _mark(context, owner)
        except StoreError:
            return
        yield ": still here\n\n" if latest == former else "event: changed\ndata: {}\n\n"
        former = latest
        with suppress(TimeoutError):
            async with asyncio.timeout(_SECONDS):
                await stopping.wait()
        if stopping.is_set():
            return


async def _mark(context: Context, owner: str) -> object:
    """Differs after every change of what a page shows."""
    proposals = None if context.curation is None else await context.curation().counts(owner)
    return (
        await context.store.change_mark(owner),
        dict(await context.settings.read_settings()),
        proposals,
    )
