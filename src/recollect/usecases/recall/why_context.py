"""The context of one `why`: the recall in question, with more time, and the memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from recollect.core.memory.memory import EVERYWHERE, Memory, Scope
from recollect.core.recall.context import PhaseShares, RecallContext
from recollect.core.recall.decisions import fuse_answers
from recollect.core.recall.fusion import Answers
from recollect.core.recall.request import LEGS, LegName
from recollect.usecases.recall.legs import LegOutcome, prepare_second_phase, run_legs
from recollect.usecases.recall.rerank import rerank
from recollect.usecases.recall.steps import Ranking, rank_fused

if TYPE_CHECKING:
    from recollect.usecases.context import Context

# How deep a leg is searched for a memory's rank. If it is deeper, the answer says so.
SEARCH_DEPTH: Final = 10_000
# Each phase may take all of the time: a person waits for the answer.
SHARES: Final = PhaseShares(1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class WhyContext:
    """`recall` is the recall in question. Its request does not exclude the memory, to show what
    would happen without that. `is_outside` means that the memory is forgotten or out of scope, so
    that its place can only be estimated. A leg is searched to the `search_depth` at most.
    """

    context: Context
    recall: RecallContext
    memory: Memory
    is_outside: bool
    search_depth: int

    def at_depth(self, depth: int) -> WhyContext:
        settings = replace(self.recall.settings, depth=depth)
        return replace(self, recall=replace(self.recall, settings=settings))

    @property
    def without_limits(self) -> WhyContext:
        """The same context at the `search_depth`."""
        return self.at_depth(self.search_depth)

    async def run_legs(
        self, names: Sequence[LegName] = LEGS, scope: Scope | None = None
    ) -> dict[LegName, LegOutcome]:
        """Run the legs. Within another scope, nothing is excluded."""
        legs = {name: leg for name, leg in self.context.legs.items() if name in names}
        return await run_legs(self.restart(scope), legs)

    async def rank(self, answers: Answers) -> tuple[Ranking, dict[LegName, LegOutcome]]:
        """Return the final order, and the outcomes of the second phase's legs."""
        asked = self.restart()
        with prepare_second_phase(asked, self.context.second_phase) as second_phase:
            order, outcomes = await second_phase.run(asked, fuse_answers(asked, answers))
        asked = self.restart()
        ranking = await rank_fused(asked, self.context.store, order, self.context.late)
        return await rerank(asked, self.context.reranker, ranking), outcomes

    async def run_without_limits(self, name: LegName, answers: Answers) -> LegOutcome:
        """Run a leg of the second phase limited neither by depth nor by scope: in a recall, both
        apply only to what it reaches.
        """
        asked = self.without_limits.restart(EVERYWHERE)
        legs = {name: self.context.second_phase[name]}
        with prepare_second_phase(asked, legs) as second_phase:
            _, outcomes = await second_phase.run(asked, fuse_answers(asked, answers))
        return outcomes[name]

    def restart(self, scope: Scope | None = None) -> RecallContext:
        """Return the recall with all of its time left."""
        asked = replace(self.recall, deadline=self.recall.deadline.restart())
        if scope is None:
            return asked
        return replace(asked, scope=scope, request=replace(asked.request, exclude=frozenset()))
