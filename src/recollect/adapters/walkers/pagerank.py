"""The graph leg: personalized PageRank over matrices that are cached in memory.

A matrix is read and built in the background, when an owner's graph is needed and has changed. No
query waits for it: meanwhile the previous matrix is used. If a graph changes all the time, building
takes at most a tenth of the time. The least recently used matrices are dropped when all together
are too large.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from recollect.adapters.walkers.matrix import Matrix, WalkStart, build, walk
from recollect.adapters.walkers.naming import HUBS, find_named_concepts
from recollect.core.graph.walk import Walked, damping, restart
from recollect.core.recall.context import RecallContext
from recollect.core.recall.fusion import Fused
from recollect.core.recall.request import Declined
from recollect.ports.graph import ConceptGraph, Walk

MAX_BYTES: Final = 256 * 1024 * 1024
# A recall does not wait for a matrix, but a small one is ready almost immediately.
_GRACE_SECONDS: Final = 0.1
REST: Final = 9.0
"""After a build, this many times its duration passes before the owner's next build."""

_READING: Final = Declined(
    "absent", "the graph is being read for the first time; ask again", "being_read"
)

_Key = tuple[str, datetime | None]


@dataclass(slots=True)
class _CachedMatrix:
    matrix: Matrix
    rest_until: float


class PageRank:
    """A walker; open it as a context, so that no build outlives it."""

    def __init__(self, graph: ConceptGraph, max_bytes: int = MAX_BYTES, rest: float = REST) -> None:
        self._graph = graph
        self._max_bytes = max_bytes
        self._rest = rest
        self._cache: OrderedDict[_Key, _CachedMatrix] = OrderedDict()
        self._building: dict[_Key, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        building = list(self._building.values())
        for task in building:
            task.cancel()
        await asyncio.gather(*building, return_exceptions=True)

    async def prepare(self, context: RecallContext) -> Walk | Declined:
        request = context.request
        concepts = await find_named_concepts(self._graph, context.owner, request.query)
        if isinstance(concepts, Declined):
            return concepts
        matrix = await self._matrix(context.owner, request.as_of)
        if matrix is None:
            return _READING
        known = matrix.find_walkable(concepts)
        if not known:
            return HUBS
        share = damping(context.weights["graph"], matrix.by_model)

        async def walk_from(fused: Sequence[Fused]) -> Sequence[Walked]:
            start = WalkStart(restart(fused), known, share, context.depth, request.limit)
            # In a thread, so that the event loop is not blocked.
            return await asyncio.to_thread(walk, matrix, start)

        return walk_from

    async def ready(self, owner: str) -> None:
        """Wait until the cached matrix of an owner is the current state of the graph."""
        self._begin((owner, None))
        await self._building[owner, None]

    async def _matrix(self, owner: str, as_of: datetime | None) -> Matrix | None:
        key = (owner, as_of)
        cached = self._cache.get(key)
        if cached is not None:
            self._cache.move_to_end(key)
            if asyncio.get_running_loop().time() < cached.rest_until:
                return cached.matrix
            if await self._graph.version(owner) == cached.matrix.version:
                return cached.matrix
        task = self._begin(key)
        if cached is None:
            # For a past moment there is no previous matrix to use, so the query waits.
            await asyncio.wait([task], timeout=_GRACE_SECONDS if as_of is None else None)
            if task.done():
                await task  # an error is reported as the failure of the leg
        cached = self._cache.get(key)
        return None if cached is None else cached.matrix

    def _begin(self, key: _Key) -> asyncio.Task[None]:
        """Return the build of this key, started unless it is running."""
        if key not in self._building:
            task = asyncio.create_task(self._build(key), name="concept graph")
            self._building[key] = task
            task.add_done_callback(lambda task: self._discard(key, task))
        return self._building[key]

    def _discard(self, key: _Key, task: asyncio.Task[None]) -> None:
        self._building.pop(key, None)
        if not task.cancelled():
            task.exception()  # asyncio logs an error that no one retrieved; the next recall retries

    async def _build(self, key: _Key) -> None:
        now = asyncio.get_running_loop().time
        begun = now()
        snapshot = await self._graph.snapshot(*key)
        matrix = await asyncio.to_thread(build, snapshot)
        self._cache[key] = _CachedMatrix(matrix, now() + self._rest * (now() - begun))
        self._cache.move_to_end(key)
        while len(self._cache) > 1 and self._bytes() > self._max_bytes:
            self._cache.popitem(last=False)

    def _bytes(self) -> int:
        return sum(cached.matrix.bytes for cached in self._cache.values())
