"""One `why`: the recall it asks about, with more time, and the memory in question."""

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

# How deep a leg is searched for a memory's rank: beyond it the answer says so.
SEARCH_DEPTH: Final = 10_000
# Each phase has all of the time: a person waits for the answer.
SHARES: Final = PhaseShares(1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class WhyContext:
    """`recall` is what is asked about. Its request does not exclude the memory: the question is
    what would be without that. `is_outside`: the memory is forgotten or out of scope, so its place
    can only be estimated. A leg is searched to the `search_depth` at most.
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
        """The same, as deep as a memory's rank is looked for."""
        return self.at_depth(self.search_depth)

    async def run_legs(
        self, names: Sequence[LegName] = LEGS, scope: Scope | None = None
    ) -> dict[LegName, LegOutcome]:
        """What the legs answer. Within another scope, nothing is excluded."""
        legs = {name: leg for name, leg in self.context.legs.items() if name in names}
        return await run_legs(self.restart(scope), legs)

    async def rank(self, answers: Answers) -> tuple[Ranking, dict[LegName, LegOutcome]]:
        """The final order, and what became of the legs of the second phase."""
        asked = self.restart()
        with prepare_second_phase(asked, self.context.second_phase) as second_phase:
            order, outcomes = await second_phase.run(asked, fuse_answers(asked, answers))
        asked = self.restart()
        ranking = await rank_fused(asked, self.context.store, order, self.context.late)
        return await rerank(asked, self.context.reranker, ranking), outcomes

    async def run_without_limits(self, name: LegName, answers: Answers) -> LegOutcome:
        """How a leg of the second phase answers if it is not stopped at the depth, nor by the
        scope: in the recall, both hold after it has come so far.
        """
        asked = self.without_limits.restart(EVERYWHERE)
        legs = {name: self.context.second_phase[name]}
        with prepare_second_phase(asked, legs) as second_phase:
            _, outcomes = await second_phase.run(asked, fuse_answers(asked, answers))
        return outcomes[name]

    def restart(self, scope: Scope | None = None) -> RecallContext:
        """The recall with all of its time left."""
        asked = replace(self.recall, deadline=self.recall.deadline.restart())
        if scope is None:
            return asked
        return replace(asked, scope=scope, request=replace(asked.request, exclude=frozenset()))
