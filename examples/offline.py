"""The last part of `make demo`: the server stops, a laptop continues to remember and recall, the
server comes back, and both have everything.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text

from recollect.core.memory.memory import Draft
from recollect.core.recall.request import RecallRequest
from recollect.settings import load
from recollect.usecases.sync.sync import sync
from recollect.wiring.local import Cached, open_cached

console = Console(highlight=False)
WRITTEN = "The ferry to Bastø leaves from pier three, not from pier two."


@asynccontextmanager
async def laptop(home: Path, url: str, key: str) -> AsyncIterator[Cached]:
    async with open_cached(load(home=home, api_url=url, api_key=key)) as cached:
        yield cached


async def sync_laptop(home: Path, url: str, key: str) -> None:
    """Sync a laptop while the server is running."""
    console.print()
    console.rule("offline: a laptop syncs, then the server is stopped", align="left")
    async with laptop(home, url, key) as cached:
        await sync(cached.sync, cached.server, cached.clock)
        memories = (await cached.service.stats()).memories
        console.print(f"\nThe laptop has {memories} memories. The server stops …")


async def work_offline(home: Path, url: str, key: str) -> None:
    async with laptop(home, url, key) as cached:
        await cached.service.remember(Draft(WRITTEN, tags=("ferry",)))
        console.print(f"\nremembered here: {WRITTEN}")
        for query in ("which pier for the ferry?", "when is staging read-only?"):
            answer = await cached.service.recall(RecallRequest(query, limit=1))
            console.print(
                Text.assemble("\nrecall ", (query, "bold"), f"   {answer.took_ms:.1f} ms")
            )
            console.print(f"  {answer.hits[0].memory.content}")
            console.print(Text(f"  {answer.note}", style="dim"))
        waiting = (await cached.service.status()).waiting
        console.print(f"\n{waiting} write waits. The server comes back …\n")


async def sync_again(home: Path, url: str, key: str) -> None:
    async with laptop(home, url, key) as cached:
        await sync(cached.sync, cached.server, cached.clock)
        here = (await cached.service.stats()).memories
        there = (await cached.service.remote.stats()).memories
        status = await cached.service.status()
        console.print(
            f"converged: {here} memories here, {there} on the server, {status.waiting} waiting, "
            f"{status.conflicts} conflicts"
        )
        found = await cached.service.remote.recall(RecallRequest("pier ferry", limit=1))
        console.print(f"the server recalls: {found.hits[0].memory.content}")
