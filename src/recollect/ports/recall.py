"""What recall needs: legs, the index of vectors, and the model of the second stage."""

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
    """One way to find candidates, ordered best first. It raises if it should have answered and
    could not, and declines if there is nothing to search.
    """

    async def __call__(self, context: RecallContext) -> Sequence[Candidate] | Declined: ...


class SecondPhaseLeg(Protocol):
    """A leg that reorders what the first phase found (`context.fused`).

    It may return other memories as well, but only those that the request may see.
    """

    async def prepare(self, context: RecallContext) -> Leg | Declined:
        """Look up, while the first phase runs, everything that does not depend on its result;
        `fused` is still empty here. The leg is then called with the fused order.
        """


class RecallRecord(Protocol):
    """Which memories were ever recalled. It may lose some, so that no request waits for it."""

    async def note_recalls(self, owner: str, ids: Collection[UUID], at: datetime) -> None:
        """Record that these memories were shown."""

    async def recalled(self, owner: str) -> tuple[set[UUID], datetime]:
        """Return the memories of an owner that were ever shown, and since when that is recorded."""


class RecallStore(Protocol):
    """What recall reads from a store besides its legs."""

    async def fetch(self, owner: str, ids: Collection[UUID], as_of: AsOf = None) -> Fetched: ...

    async def follow(
        self, owner: str, old: Collection[UUID], named: Collection[UUID], as_of: AsOf = None
    ) -> Resolution: ...


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """What the dense leg looks for: the vectors nearest to `vector`, only in its own space.
    `use_index` and `has_passages` are from the survey; without `use_index` every vector of the
    scope is compared. `spread` is the standard deviation of its cosines with unrelated texts.
    """

    space: StoredSpace
    vector: Sequence[float]
    use_index: bool = False
    spread: float = 0.0
    depth: int = 50
    exclude: frozenset[UUID] = frozenset()
    has_passages: bool = True


class VectorIndex(Protocol):
    """The vectors of memories, in a store that holds vectors."""

    async def survey(self, owner: str, scope: Scope) -> Survey:
        """Return what is known before there is a vector."""

    async def nearest(self, owner: str, scope: Scope, query: VectorQuery) -> list[Candidate]:
        """Search the dense leg: memories by the cosine of their best passage, less what the best of
        so many gains by chance (`spread · gain_by_chance(passages)`), best first, each once. It
        returns all that the query asks for if the scope has as many, and no vector of an older
        text.
        """


class TokenIndex(Protocol):
    """The token vectors of memories."""

    async def token_vectors(
        self, owner: str, space: StoredSpace, passages: Mapping[UUID, Span | None]
    ) -> dict[UUID, bytes]:
        """Return the stored token vectors of these memories in this space; for a long text, those
        of the named passage. Memories that have none are left out, and so are long texts without a
        named passage.
        """


class LateInteraction(Protocol):
    """The second stage that compares words and needs no texts."""

    async def rescore(
        self, context: RecallContext, order: Sequence[Ranked]
    ) -> tuple[Sequence[Ranked], RerankReport]:
        """Rank the first hits of the order again; return the new order and the stage's outcome."""


class Reranker(Protocol):
    """A model that reads query and text together: an optional second stage."""

    @property
    def is_hosted(self) -> bool:
        """Whether text leaves this machine to be judged."""

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Score how well each text answers the query; larger is better."""
