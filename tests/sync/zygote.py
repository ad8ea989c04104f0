"""Forks ready-made clients and servers: a kill test needs hundreds, and importing would take longer
than they live.

Run as a script. Each line on stdin is a JSON object that says what to fork; each line on stdout is
one about what a child did. The parent has no threads and no event loop, so a fork is safe.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

# Everything that is imported late is imported now.
import recollect.adapters.files.file_lock
import recollect.adapters.http.sync
import recollect.adapters.postgres.store
import recollect.adapters.sqlite.sync.store
import recollect.usecases.sync.offline_first  # noqa: F401  # as above
from recollect import settings
from recollect.core.memory.memory import Draft
from recollect.shells.asgi.listening import listen
from recollect.shells.serve import serve
from recollect.wiring import open_server, open_service


def say(**what: object) -> None:
    """One write: whole or not at all, also when killed."""
    os.write(1, json.dumps(what).encode() + b"\n")


async def client(home: str, url: str, key: str, name: str, writes: int) -> None:
    """An agent: writes and changes without pause, with the engine inside."""
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

            async def tell() -> None:
                say(serving=port)

            await serve(opened, listening, stopping, tell)


def forked(what: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        say(pid=pid)
        return pid
    work: Callable[..., Coroutine[Any, Any, None]]
    work = client if what.pop("run") == "client" else server
    # What the log says is no line of ours.
    own = os.dup(1)
    os.dup2(2, 1)
    globals()["say"] = lambda **told: os.write(own, json.dumps(told).encode() + b"\n")
    try:
        asyncio.run(work(**what))
    except KeyboardInterrupt:
        pass
    except BaseException as error:  # noqa: BLE001  # else a test would wait for what it would say
        say(failed=repr(error))
    os._exit(0)


def main() -> None:
    say(ready=True)
    children: set[int] = set()
    for line in sys.stdin:
        what = json.loads(line)
        if "reap" in what:
            os.waitpid(what["reap"], 0)
            children.discard(what["reap"])
            say(reaped=what["reap"])
        else:
            children.add(forked(what))
    for left in children:  # a test that failed has not ended them
        os.kill(left, signal.SIGKILL)


if __name__ == "__main__":
    main()
