"""What recall asks: legs, the index of vectors, and the model of the second stage."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from recollect.core.memory.memory import Scope
    from recollect.core.recall.context import RecallContext
    from recollect.core.recall.request import Candidate, Declined
    from recollect.core.recall.space import StoredSpace, Survey
    from recollect.core.recall.successors import AsOf, Fetched, Resolution


class Leg(Protocol):
    """One way to find candidates, ordered best first; it raises when it should have and could not,
    and declines when there is nothing to ask.
    """

    async def __call__(self, context: RecallContext) -> Sequence[Candidate] | Declined: ...


class SecondPhaseLeg(Protocol):
    """A leg that works on what the first phase found (`context.fused`), and reorders it.

    It may return other memories as well, and answers for them: only what the request may see.
    """

    async def prepare(self, context: RecallContext) -> Leg | Declined:
        """Beside the first phase, look up all that does not depend on what that finds; `fused` is
        still empty here. The leg is then called with the fused order.
        """


class RecallStore(Protocol):
    """What recall reads of a store besides its legs."""

    async def fetch(self, owner: str, ids: Collection[UUID], as_of: AsOf = None) -> Fetched: ...

    async def follow(
        self, owner: str, old: Collection[UUID], named: Collection[UUID], as_of: AsOf = None
    ) -> Resolution: ...


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """What the dense leg looks for: the vectors nearest to `vector`, in its own space alone.
    `use_index` is what the survey said; without it every vector of the scope is compared.
    """

    space: StoredSpace
    vector: Sequence[float]
    use_index: bool = False
    depth: int = 50
    exclude: frozenset[UUID] = frozenset()


class VectorIndex(Protocol):
    """The vectors of memories, where the store has a place for them."""

    async def survey(self, owner: str, scope: Scope) -> Survey:
        """What can be known before there is a vector."""

    async def nearest(self, owner: str, scope: Scope, query: VectorQuery) -> list[Candidate]:
        """The dense leg: memories by cosine, best first; never fewer than exist in the scope,
        and no vector that was made for an older text.
        """


class Reranker(Protocol):
    """A model that reads query and text together: the optional second stage."""

    @property
    def is_hosted(self) -> bool:
        """Whether text leaves this machine to be judged."""

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query, larger is better."""
