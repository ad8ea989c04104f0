"""What recall asks: legs, the index of vectors, and the model of the second stage."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from datetime import datetime

    from recollect.core.memory.memory import Scope
    from recollect.core.recall.context import RecallContext
    from recollect.core.recall.ranking import Ranked
    from recollect.core.recall.request import (
        Candidate,
        Declined,
        RecallRequest,
        Recollection,
        RerankReport,
    )
    from recollect.core.recall.space import StoredSpace, Survey
    from recollect.core.recall.successors import AsOf, Fetched, Resolution
    from recollect.core.text.passages import Span


class OwnerRecall(Protocol):
    """Recall for any owner of a store."""

    async def __call__(self, owner: str, request: RecallRequest, /) -> Recollection: ...


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


class RecallRecord(Protocol):
    """Which memories were ever recalled. It may lose some: nothing waits for it."""

    async def note_recalls(self, owner: str, ids: Collection[UUID], at: datetime) -> None:
        """Record that these memories were shown."""

    async def recalled(self, owner: str) -> tuple[set[UUID], datetime]:
        """The memories of an owner that were ever shown, and since when that is recorded."""


class RecallStore(Protocol):
    """What recall reads of a store besides its legs."""

    async def fetch(self, owner: str, ids: Collection[UUID], as_of: AsOf = None) -> Fetched: ...

    async def follow(
        self, owner: str, old: Collection[UUID], named: Collection[UUID], as_of: AsOf = None
    ) -> Resolution: ...


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """What the dense leg looks for: the vectors nearest to `vector`, in its own space alone.
    `use_index` and `has_passages` are what the survey said; without the first every vector of the
    scope is compared.
    """

    space: StoredSpace
    vector: Sequence[float]
    use_index: bool = False
    depth: int = 50
    exclude: frozenset[UUID] = frozenset()
    has_passages: bool = True


class VectorIndex(Protocol):
    """The vectors of memories, where the store has a place for them."""

    async def survey(self, owner: str, scope: Scope) -> Survey:
        """What can be known before there is a vector."""

    async def nearest(self, owner: str, scope: Scope, query: VectorQuery) -> list[Candidate]:
        """The dense leg: memories by the cosine of their best passage, best first, each once; never
        fewer than exist in the scope, and no vector that was made for an older text.
        """


class TokenIndex(Protocol):
    """The token vectors of memories."""

    async def token_vectors(
        self, owner: str, space: StoredSpace, passages: Mapping[UUID, Span | None]
    ) -> dict[UUID, bytes]:
        """The stored token vectors of these memories in this space: of a long text, those of the
        named passage. A memory that has none is left out, and so is a long text of which no passage
        is named.
        """


class LateInteraction(Protocol):
    """The second stage that compares words and needs no texts."""

    async def rescore(
        self, context: RecallContext, order: Sequence[Ranked]
    ) -> tuple[Sequence[Ranked], RerankReport]:
        """The order with its first hits ranked again, and what became of the stage."""


class Reranker(Protocol):
    """A model that reads query and text together: the optional second stage."""

    @property
    def is_hosted(self) -> bool:
        """Whether text leaves this machine to be judged."""

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query, larger is better."""
