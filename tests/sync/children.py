"""Child processes of the kill tests: clients that write without pause, and servers.

Each line of their output is a JSON object about what they did.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from recollect import settings
from recollect.core.memory.memory import Draft
from recollect.shells.asgi.listening import listen
from recollect.shells.serve import serve
from recollect.wiring.local import open_service
from recollect.wiring.server import open_server

_OUT = 1


def say(**what: object) -> None:
    """Print in a single write: all or nothing, even when killed."""
    os.write(_OUT, json.dumps(what).encode() + b"\n")


async def client(home: str, url: str, key: str, name: str, writes: int) -> None:
    """Write and change memories without pause, with the sync engine running."""
    chosen = settings.load(home=Path(home), api_url=url, api_key=key, sync_interval=0.2)
    chance = random.Random(name)
    async with open_service(chosen, syncing=True) as recollect:
        mine: list[tuple[str, str]] = []
        for number in range(writes):
            token = f"zqp{name}n{number}"
            if mine and chance.random() < 0.4:
                place = chance.randrange(len(mine))
                id, old = mine[place]
                say(trying=token, over=old)
                await recollect.update(id, {"content": f"edited {token}"})
                mine[place] = (id, token)
            else:
                say(trying=token, over=None)
                memory = await recollect.remember(Draft(f"note {token}"))
                mine.append((str(memory.id), token))
            say(stored=token)
            await asyncio.sleep(chance.random() * 0.01)
        say(done=name)
        await asyncio.Event().wait()


async def server(database_url: str, home: str, port: int) -> None:
    chosen = settings.load(database_url=database_url, home=Path(home), port=port)
    stopping = asyncio.Event()
    with listen(chosen.host, chosen.port) as listening:
        async with open_server(chosen) as opened:

            async def announce() -> None:
                say(serving=port)

            await serve(opened, listening, stopping, announce)


def run(what: dict[str, Any]) -> None:
    """Be a client or a server until killed."""
    global _OUT
    _OUT = os.dup(1)
    os.dup2(2, 1)  # keep log lines out of the output
    work: Callable[..., Coroutine[Any, Any, None]]
    work = client if what.pop("run") == "client" else server
    try:
        asyncio.run(work(**what))
    except BaseException as error:  # otherwise the test would wait for the next line
        say(failed=repr(error))
        raise
