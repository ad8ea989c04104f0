"""One `why`: what is the same for all the questions that it puts to the legs, the graph and the
later stages. They are asked as a recall asks them, only with more patience.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from recollect.core.graph.walk import Walked
from recollect.core.memory.memory import Memory
from recollect.core.privacy.redaction import safe_message
from recollect.core.recall.fusion import Answers
from recollect.core.recall.request import LEGS, Declined, LegName, LegReport, RecallRequest
from recollect.core.recall.settings import RecallSettings
from recollect.usecases.context import Context
from recollect.usecases.recall.graph_leg import prepare_walk, run_graph_leg
from recollect.usecases.recall.legs import LegOutcome, run_legs
from recollect.usecases.recall.rank import RankedHits, rank_hits

# How deep a leg is searched for a memory's rank: beyond it the answer says so.
BOUND: Final = 10_000
PATIENCE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class WhyContext:
    """The request does not exclude the memory: what would be without that is asked. `is_outside`:
    it is forgotten or out of scope, so that its place can only be reckoned.
    """

    context: Context
    owner: str
    memory: Memory
    request: RecallRequest
    settings: RecallSettings
    weights: Mapping[LegName, float]
    is_outside: bool

    @property
    def depth(self) -> int:
        return max(self.settings.depth, self.request.limit)

    @property
    def far(self) -> WhyContext:
        """The same, as deep as a memory's rank is looked for."""
        return self.at_depth(BOUND)

    def at_depth(self, depth: int) -> WhyContext:
        return replace(self, settings=replace(self.settings, depth=depth))

    async def ask(
        self, names: Sequence[LegName] = LEGS, request: RecallRequest | None = None
    ) -> dict[LegName, LegOutcome]:
        legs = {name: leg for name, leg in self.context.legs.items() if name in names}
        return await run_legs(
            legs,
            self.weights,
            self.owner,
            request or self.request,
            self.settings,
            PATIENCE_SECONDS,
        )

    async def rank_hits(self, answers: Answers) -> tuple[RankedHits, LegOutcome | None]:
        """The final order, and what became of the graph's leg."""
        also = self.memory.id if self.is_outside else None
        asked = (self.context, self.owner, self.request, self.settings, self.weights)
        with prepare_walk(*asked) as walk:
            fused, graph = await run_graph_leg(*asked, answers, walk, PATIENCE_SECONDS, also)
        until = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        arranged = await rank_hits(
            self.context, self.owner, self.request, self.settings, fused, until=until
        )
        return arranged, graph

    async def walk_far(self, answers: Answers) -> Sequence[Walked] | LegReport:
        """Where the walk of this recall comes to if nobody stops it at the depth; or what became
        of it instead.
        """
        settings, weight = self.settings, self.weights["graph"]
        without = {**self.weights, "graph": 0.0}
        asked = (self.context, self.owner, self.request, self.far.settings, self.weights)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                fused = await self.context.fuser(
                    answers, without, settings.fusion, settings.constant
                )
                with prepare_walk(*asked) as walk:
                    if walk is None:
                        return ()
                    walk.start.set_result(fused)
                    walked = await walk.leg
        except TimeoutError:
            return LegReport("late", weight)
        except Exception as error:  # noqa: BLE001  # whatever the graph has, the rest is known
            return LegReport("failed", weight, note=safe_message(error))
        if isinstance(walked, Declined):
            return LegReport(walked.status, weight, 0, 0.0, walked.note, walked.reason)
        return walked
