"""Which way the graph is walked, by the setting that holds for this recall."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence

from recollect.core.graph.walk import Walked
from recollect.core.recall.fusion import Fused
from recollect.core.recall.request import Declined, RecallRequest
from recollect.core.recall.settings import GraphWalk, RecallSettings
from recollect.ports.graph import Walker


def select_walker(walkers: Mapping[GraphWalk, Walker]) -> Walker:
    async def walker(
        owner: str,
        request: RecallRequest,
        settings: RecallSettings,
        weight: float,
        fused: Awaitable[Sequence[Fused]],
    ) -> Sequence[Walked] | Declined:
        return await walkers[settings.graph_walk](owner, request, settings, weight, fused)

    return walker
