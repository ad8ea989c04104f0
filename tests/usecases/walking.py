"""A walker over a graph that a test draws: the real walk, with nothing around it."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from recollect.adapters.walkers.matrix import WalkStart, build, walk
from recollect.core.graph.model import GraphSnapshot
from recollect.core.graph.walk import Walked, damping, restart
from recollect.core.memory.memory import Memory
from recollect.core.recall.context import RecallContext
from recollect.core.recall.fusion import Fused
from recollect.core.recall.request import Declined
from recollect.ports.graph import Walk


@dataclass
class Walking:
    """`mentions` maps each memory to the numbers of the concepts it mentions; the query names
    `named`. `answer` replaces its answer; `raises` is what it fails with from its second call on.
    """

    mentions: Mapping[UUID, Sequence[int]]
    named: Sequence[int] = (0,)
    answer: Declined | None = None
    raises: Exception | None = None
    depths: list[int] = field(default_factory=list)

    async def prepare(self, context: RecallContext) -> Walk | Declined:
        self.depths.append(context.depth)
        if self.raises is not None and len(self.depths) > 1:
            raise self.raises
        if self.answer is not None:
            return self.answer
        named = [UUID(int=number) for number in self.named]
        share = damping(context.weights["graph"])

        async def walk_from(fused: Sequence[Fused]) -> Sequence[Walked]:
            start = WalkStart(restart(fused), named, share, context.depth, context.request.limit)
            return walk(build(self._snapshot()), start)

        return walk_from

    def _snapshot(self) -> GraphSnapshot:
        count = 1 + max(number for each in self.mentions.values() for number in each)
        pairs = [(at, number) for at, each in enumerate(self.mentions.values()) for number in each]
        return GraphSnapshot(
            1,
            tuple(self.mentions),
            tuple(UUID(int=number) for number in range(count)),
            tuple(f"concept {number}" for number in range(count)),
            ("name",) * count,
            array("i", [memory for memory, _ in pairs]),
            array("i", [number for _, number in pairs]),
            array("f", [1.0]) * len(pairs),
        )


def make_walking(memories: Sequence[Memory], *concepts: Sequence[int]) -> Walking:
    """Return a walker where the first memory mentions the first concepts, and so on."""
    return Walking({one.id: each for one, each in zip(memories, concepts, strict=True)})
