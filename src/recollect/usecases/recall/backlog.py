"""Count the memories that are not embedded yet, outside of any recall.

Until a memory is embedded it is found by words alone, and a recall should say so. Counting scans
all vectors, so it runs in the background, less often the longer it takes; a recall reads the last
count.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import Final, NamedTuple, Self

from recollect.core.privacy.redaction import safe_message
from recollect.ports.embedding import EmbeddingQueue
from recollect.usecases.memory.stats import embedding_stats
from recollect.usecases.tasks import cancel_and_wait

log = logging.getLogger(__name__)
REFRESH_SECONDS: Final = 30.0
# A quick count is repeated sooner, so that no recall reports work that is already done. The pause
# is at least this long, and counting takes at most a hundredth of the time.
_MIN_SECONDS: Final = 1.0
_COUNTING_SHARE: Final = 0.01


class _Count(NamedTuple):
    embedded: int
    waiting: int


class Backlog:
    """The last count of each owner who recalled lately, refreshed in the background; an async
    context manager.
    """

    def __init__(
        self, queue: EmbeddingQueue, remedy: str, refresh_seconds: float = REFRESH_SECONDS
    ) -> None:
        self._queue = queue
        self._remedy = remedy
        self._refresh_seconds = refresh_seconds
        self._last: dict[str, _Count] = {}
        self._owners: set[str] = set()
        self._requested = asyncio.Event()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        counting = asyncio.create_task(self._count_on_request(), name="embedding backlog")
        self._stack.push_async_callback(cancel_and_wait, counting)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def hint(self, owner: str) -> str | None:
        """Describe an owner's backlog as of the last count; None if there is none."""
        self._owners.add(owner)
        self._requested.set()
        last = self._last.get(owner)
        if last is None or not last.waiting:
            return None
        done = f"{last.embedded:,} of {last.embedded + last.waiting:,} memories are embedded"
        others = "the other one is" if last.waiting == 1 else f"the other {last.waiting:,} are"
        return f"{done}; {others} found by words only so far. {self._remedy}"

    async def count(self, owner: str) -> None:
        """Count an owner's memories now."""
        stats = await embedding_stats(self._queue, owner)
        if stats is None:
            self._last.pop(owner, None)
        else:
            self._last[owner] = _Count(stats.embedded, stats.waiting)

    async def _count_on_request(self) -> None:
        """Count for the owners who recalled since the last round; drop the others."""
        clock = asyncio.get_running_loop().time
        while True:
            await self._requested.wait()
            begun = clock()
            self._requested.clear()
            owners, self._owners = self._owners, set()
            for owner in self._last.keys() - owners:
                del self._last[owner]
            try:
                for owner in owners:
                    await self.count(owner)
            except Exception as error:  # noqa: BLE001  # the next count may succeed
                log.warning("the embedding backlog was not counted: %s", safe_message(error))
            pause = max(_MIN_SECONDS, (clock() - begun) / _COUNTING_SHARE)
            await asyncio.sleep(min(pause, self._refresh_seconds))
