"""Know how many memories are not embedded yet, without making a recall count them.

Until a memory is embedded it is found by words alone, and a recall should say so. Counting goes
over all vectors, so it runs in the background, at most once in a while; a recall reads the last
count.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import Final, Self

from recollect.core.privacy.redaction import safe_message
from recollect.core.recall.space import EmbeddingStats
from recollect.ports.embedding import EmbeddingQueue
from recollect.usecases.memory.stats import embedding_stats
from recollect.usecases.tasks import cancel_and_wait

log = logging.getLogger(__name__)
REFRESH_SECONDS: Final = 30.0


class Backlog:
    """The last count of each owner who recalled lately, refreshed in the background; an async
    context manager.
    """

    def __init__(self, queue: EmbeddingQueue, refresh_seconds: float = REFRESH_SECONDS) -> None:
        self._queue = queue
        self._refresh_seconds = refresh_seconds
        self._last: dict[str, EmbeddingStats | None] = {}
        self._owners: set[str] = set()
        self._wanted = asyncio.Event()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        counting = asyncio.create_task(self._count_when_wanted(), name="embedding backlog")
        self._stack.push_async_callback(cancel_and_wait, counting)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def hint(self, owner: str) -> str | None:
        """What to tell an owner about the backlog, by the last count; None where there is none."""
        self._owners.add(owner)
        self._wanted.set()
        last = self._last.get(owner)
        if last is None or not last.waiting:
            return None
        total = last.embedded + last.waiting
        return (
            f"{last.embedded:,} of {total:,} memories are embedded; "
            "the others are found by words only until they are"
        )

    async def count(self) -> None:
        """Count for the owners who asked since the last count; the others are forgotten."""
        owners, self._owners = self._owners, set()
        self._last = {owner: await embedding_stats(self._queue, owner) for owner in owners}

    async def _count_when_wanted(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self.count()
            except Exception as error:  # noqa: BLE001  # the next count may succeed
                log.warning("the embedding backlog was not counted: %s", safe_message(error))
            await asyncio.sleep(self._refresh_seconds)
