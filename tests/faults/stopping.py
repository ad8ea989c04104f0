"""Forks `recollect` commands that stop at a step of their work on spaces, to be killed there: a
kill test needs many, and importing would take longer than they live.

Run as a script. Each line on stdin is a JSON object: `run`, the arguments of a command, with its
environment and the step at which it stops, or `reap`, the id of a child that was killed. Each line
on stdout tells what came of it. The parent has no threads and no event loop, so a fork is safe.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine
from typing import Any

# Everything that is imported late is imported now.
import alembic.command  # noqa: F401  # as above

import recollect.adapters.models.embedders.catalogue
import recollect.adapters.models.embedders.hosted
import recollect.shells.cli.embedding
import recollect.shells.progress
import recollect.usecases.workers.reembed
import recollect.wiring  # noqa: F401  # as above
from recollect.adapters.postgres import timeouts as patience
from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors import spaces
from recollect.adapters.postgres.vectors.index import PostgresVectors
from recollect.main import main

_ANSWERS = os.dup(1)
os.dup2(2, 1)  # what the commands themselves print


def say(**what: object) -> None:
    os.write(_ANSWERS, json.dumps(what).encode() + b"\n")


def stop_at(method: str, moment: str) -> None:
    """Stop before or after a method of the vectors, or inside the transaction it makes."""
    place: Any = spaces if moment == "inside" else PostgresVectors
    real: Callable[..., Coroutine[Any, Any, object]] = getattr(place, method)

    async def stopped(*arguments: object) -> None:
        if moment != "before":
            await real(*arguments)
        say(here=method)
        await asyncio.Event().wait()

    setattr(place, method, stopped)


def child(run: list[str], environment: dict[str, str], step: list[str] | None) -> None:
    os.environ.update(environment)
    # A busy machine is no reason to give up, and nobody should wait long for what was claimed.
    patience.CONNECT_SECONDS = patience.POOL_SECONDS = 60  # type: ignore[misc]  # as said
    PostgresStore.__init__.__kwdefaults__["lease"] = 1.0  # type: ignore[index]  # it has some
    spaces._DROP_BATCH = 25  # type: ignore[misc]  # so that a removal has several parts
    if step is not None:
        stop_at(*step)
    sys.argv = ["recollect", *run]
    try:
        main()
    except SystemExit as ended:
        say(ended=ended.code)
    finally:
        os._exit(0)


for line in sys.stdin:
    what = json.loads(line)
    if "reap" in what:
        os.waitpid(what["reap"], 0)
        say(reaped=what["reap"])
    elif pid := os.fork():
        say(pid=pid)
    else:
        child(**what)
