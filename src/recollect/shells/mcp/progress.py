"""Report progress to clients that ask for it, so that waiting does not look like hanging.

It is not known in advance how long a call takes, so a report says how many seconds it has taken and
what it is doing. Clients that did not ask get no reports.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from mcp.server.context import ServerRequestContext

from recollect.usecases.tasks import cancel_and_wait

INTERVAL_SECONDS: Final = 1.0


@asynccontextmanager
async def report_progress(
    context: ServerRequestContext[Any, Any], doing: str
) -> AsyncIterator[None]:
    """While entered, send a report at once and one every second."""
    await context.session.report_progress(0.0, message=doing)
    reporting = asyncio.create_task(_report(context, doing))
    try:
        yield
    finally:
        await cancel_and_wait(reporting)


async def _report(context: ServerRequestContext[Any, Any], doing: str) -> None:
    seconds = 0.0
    while True:
        await asyncio.sleep(INTERVAL_SECONDS)
        seconds += INTERVAL_SECONDS
        await context.session.report_progress(seconds, message=doing)
