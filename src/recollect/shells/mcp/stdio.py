"""MCP over a pipe: one client, one person's memory, until stdin closes.

Clients start it often and wait for it, so the store is opened by the first call that needs it, and
no other machine is contacted before that. A local store with a model on this machine is opened
before the first call, so that hooks are answered by meaning. Stdout belongs to the protocol, and
stderr stays empty, since some clients show it as an error.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from contextlib import AsyncExitStack, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mcp.server.stdio import stdio_server

from recollect.core.errors import RecollectError
from recollect.shells.mcp.broken_text import RepairedStream
from recollect.shells.mcp.server import Context, build_server

if TYPE_CHECKING:
    from recollect.ports.service import Service
    from recollect.settings import Settings

_INTERRUPTED = 130
# The client's first requests are answered before anything else is imported. After that, look this
# often for a store or a model that was added.
_POLL_SECONDS = 0.5


class OnFirstCall:
    """Opens the memory on the first call and reuses it for later ones. If opening fails, the next
    call tries again.
    """

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._opening = asyncio.Lock()
        self._recollect: Service | None = None

    async def __call__(self, _: Context) -> Service:
        return await self.open()

    async def open(self) -> Service:
        async with self._opening:
            if self._recollect is None:
                from recollect.shells.hooks.answer_call import answer_call
                from recollect.wiring.project import keep_project
                from recollect.wiring.resident import open_session

                opening = open_session(_load_settings(), answer_call)
                opened = await self._stack.enter_async_context(opening)
                with suppress(OSError):  # the folder was removed
                    await keep_project(opened, Path.cwd(), os.environ)
                self._recollect = opened
            return self._recollect

    async def open_for_hooks(self) -> None:
        """Open the memory before the first call, once there is a model to load."""
        await asyncio.sleep(_POLL_SECONDS)
        from recollect.wiring.resident import can_preload

        with suppress(RecollectError):  # the first call reports it
            while not can_preload(_load_settings()):  # noqa: ASYNC110  # another process changes the files
                await asyncio.sleep(_POLL_SECONDS)
            await self.open()


def run() -> None:
    """Serve until stdin closes, or Ctrl-C."""
    if not os.environ.get("RECOLLECT_DEBUG"):
        logging.getLogger().addHandler(logging.NullHandler())
    # Objects created by imports live until the end, so the garbage collector can skip them.
    gc.freeze()
    gc.enable()
    try:
        asyncio.run(_serve())
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _project_here() -> str | None:
    """Return the project of this folder: clients start the server in the folder they work in."""
    from recollect.wiring.project import current_project

    return current_project(Path.cwd(), os.environ)


@cache
def _load_settings() -> Settings:
    """Load the settings on first use: a call can report an invalid one, the start cannot."""
    from recollect.settings import load

    return load()


def _shows_sensitive() -> bool:
    return _load_settings().mcp_sensitive == "show"


async def _serve() -> None:
    interrupted = asyncio.Event()
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:  # the caller may ignore it on purpose
        with suppress(NotImplementedError):  # Windows: there Ctrl-C takes effect with the next line
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted.set)
    async with AsyncExitStack() as stack:
        answering = asyncio.create_task(_answer(stack))
        stopping = asyncio.create_task(interrupted.wait())
        await asyncio.wait([answering, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        answering.cancel()
    if not answering.done():
        # A thread still waits for stdin, and only the other end of the pipe could wake it.
        os._exit(_INTERRUPTED)
    await answering


async def _answer(stack: AsyncExitStack) -> None:
    memory = OnFirstCall(stack)
    server = build_server(
        memory,
        _project_here,
        shows_sensitive=_shows_sensitive,
        serves_one_session=True,
    )
    opening = asyncio.create_task(memory.open_for_hooks())
    stack.callback(opening.cancel)
    async with stdio_server() as (incoming, outgoing):
        options = server.create_initialization_options()
        await server.run(RepairedStream(incoming), outgoing, options)
