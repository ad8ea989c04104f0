"""One recall: who asks, what, with which settings, and until when.

Created once by the recall use case, then passed to the legs, the second phase and ranking. `why`
and the hooks' fast recall use the same value (docs/adr/0037). A hook imports this before every
prompt, and a dataclass takes seven times as long to define as a named tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

if TYPE_CHECKING:
    from recollect.core.memory.memory import Memory, Scope
    from recollect.core.recall.fusion import Fused
    from recollect.core.recall.late import TokenVectors
    from recollect.core.recall.request import LegName, RecallRequest
    from recollect.core.recall.settings import RecallSettings
    from recollect.core.recall.space import StoredSpace


class PhaseShares(NamedTuple):
    """The share of the deadline that may be used up when each phase ends. The rest is for reading
    the texts of the hits.
    """

    legs: float = 0.8
    second_phase: float = 0.9
    rerank: float = 0.95


class Deadline(NamedTuple):
    """When each phase must end, on one monotonic clock. All properties are seconds from now."""

    started: float
    seconds: float
    clock: Callable[[], float]
    shares: PhaseShares = PhaseShares()

    @property
    def left_for_legs(self) -> float:
        return self._left(self.shares.legs)

    @property
    def left_for_second_phase(self) -> float:
        return self._left(self.shares.second_phase)

    @property
    def left_for_rerank(self) -> float:
        return self._left(self.shares.rerank)

    def restart(self) -> Deadline:
        return self._replace(started=self.clock())

    def _left(self, share: float) -> float:
        return max(self.started + self.seconds * share - self.clock(), 0.0)


class EncodedQuery:
    """The query's token vectors from the dense leg's model, their space, and how far the model can
    be trusted in the query's language; empty until that leg has run. The second stage compares them
    with the memories' tokens, so that a query is embedded once.
    """

    __slots__ = ("space", "tokens", "trust")

    def __init__(self) -> None:
        self.space: StoredSpace | None = None
        self.tokens: TokenVectors | None = None
        self.trust = 1.0

    def keep(self, space: StoredSpace | None, tokens: TokenVectors | None, trust: float) -> None:
        self.space, self.tokens, self.trust = space, tokens, trust


@dataclass(frozen=True, slots=True)
class RecallContext:
    """`scope` is the request's, with its project named in full and only what is valid at the moment
    asked about. `weights` are those of the settings, overridden by those of the request. A leg of
    the second phase gets the first phase's order in `fused`. `also` is a memory that may take part
    although it is out of scope: `why` asks where it would rank. `encoded` is filled by the dense
    leg.
    """

    owner: str
    request: RecallRequest
    scope: Scope
    settings: RecallSettings
    deadline: Deadline
    weights: Mapping[LegName, float]
    fused: Sequence[Fused] = ()
    also: UUID | None = None
    encoded: EncodedQuery = field(default_factory=EncodedQuery, compare=False)

    @classmethod
    def create(
        cls,
        owner: str,
        request: RecallRequest,
        scope: Scope,
        settings: RecallSettings,
        deadline: Deadline,
    ) -> RecallContext:
        weights = {**settings.weights(), **request.weights}
        return cls(owner, request, scope, settings, deadline, weights)

    @property
    def depth(self) -> int:
        """How many candidates each leg returns."""
        return max(self.settings.depth, self.request.limit)

    def may_show(self, memory: Memory) -> bool:
        """Whether a memory that no leg of the first phase found may take part."""
        return memory.id not in self.request.exclude and self.scope.covers(memory)
