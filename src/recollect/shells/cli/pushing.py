"""Sending what a command wrote, after its answer is printed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from recollect.core.errors import NotAllowed, RecollectError
from recollect.shells.cli.output import note

if TYPE_CHECKING:
    from recollect.settings import Settings

# How long a command may push.
PUSH_SECONDS = 2.0


def push_briefly(settings: Settings, *, quiet: bool) -> None:
    """After a command's answer: send what it wrote, if that is soon done. Where it is not, what
    waits is sent by the next command, `recollect sync` or a running agent.
    """

    async def pushed() -> RecollectError | None:
        from recollect.usecases.sync.sync import pull_page, push_all, silent
        from recollect.wiring import open_cached

        async with open_cached(settings) as cached:
            if not cached.lock.take():
                return None  # that process has noticed the write
            try:
                async with asyncio.timeout(PUSH_SECONDS):
                    await pull_page(cached.sync, cached.server, silent)
                    await push_all(cached.sync, cached.server)
                    await cached.sync.record_success(cached.clock.now())
            except TimeoutError:
                return None
            except RecollectError as error:
                refused = isinstance(error, NotAllowed)
                is_news = await cached.sync.record_error(
                    str(error), error.remedy, key_refused=refused
                )
                return error if refused and is_news else None
            finally:
                cached.lock.release()
        return None

    try:
        told = asyncio.run(pushed())
    except RecollectError:
        return  # the command itself has answered; `recollect status` tells of the store
    if told is not None and not quiet:
        note(f"stored here, but not sent: {told}\n→ {told.remedy}")
