"""The graph leg by personalised PageRank over matrices that are kept in memory.

A matrix is read and built in the background, when an owner's graph is asked for and has changed.
No query waits for it: meanwhile the one before serves. While a graph changes all the time, it is
rebuilt only so often that building takes at most a tenth of the time. The least recently used are
dropped when all together are too large.
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
# A recall does not wait for a matrix, but a small one is there at once.
_GRACE_SECONDS: Final = 0.1
REST: Final = 9.0
"""How many times as long as a build took nothing is built for that owner again."""

_READING: Final = Declined(
    "absent", "the graph is being read for the first time; ask again", "being_read"
)

_Key = tuple[str, datetime | None]


@dataclass(slots=True)
class _Kept:
    matrix: Matrix
    rest_until: float


class PageRank:
    """A walker; open it as a context, so that no build outlives it."""

    def __init__(
        self, graph: ConceptGraph, most_bytes: int = MAX_BYTES, rest: float = REST
    ) -> None:
        self._graph = graph
        self._most_bytes = most_bytes
        self._rest = rest
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
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
            # In a thread, so that the event loop answers others meanwhile.
            return await asyncio.to_thread(walk, matrix, start)

        return walk_from

    async def ready(self, owner: str) -> None:
        """Wait until what is kept of an owner's graph is its present state."""
        self._begin((owner, None))
        await self._building[owner, None]

    async def _matrix(self, owner: str, as_of: datetime | None) -> Matrix | None:
        key = (owner, as_of)
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            if asyncio.get_running_loop().time() < kept.rest_until:
                return kept.matrix
            if await self._graph.version(owner) == kept.matrix.version:
                return kept.matrix
        task = self._begin(key)
        if kept is None:
            # Of the past there is no older state to serve meanwhile, so the query waits.
            await asyncio.wait([task], timeout=_GRACE_SECONDS if as_of is None else None)
            if task.done():
                await task  # an error is reported as the failure of the leg
        kept = self._kept.get(key)
        return None if kept is None else kept.matrix

    def _begin(self, key: _Key) -> asyncio.Task[None]:
        """The one build of this key, begun unless it runs."""
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
        self._kept[key] = _Kept(matrix, now() + self._rest * (now() - begun))
        self._kept.move_to_end(key)
        while len(self._kept) > 1 and self._bytes() > self._most_bytes:
            self._kept.popitem(last=False)

    def _bytes(self) -> int:
        return sum(kept.matrix.bytes for kept in self._kept.values())
