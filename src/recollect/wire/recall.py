"""The answer to a recall: the hits, why each is there, and the outcome of each leg and stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from pydantic import Field

from recollect.core.memory.memory import Scope
from recollect.core.recall.request import (
    Hit,
    LegName,
    LegReport,
    LegStatus,
    Reason,
    Recollection,
    Stage,
    StageStatus,
)
from recollect.wire.codec import Codec, build, read_set
from recollect.wire.memory import MEMORY
from recollect.wire.values import WITH_GLOBAL, Shape

if TYPE_CHECKING:
    MemoryOut = Any
else:
    MemoryOut = MEMORY.shape


class Joined:
    """Several values as one, from which a shape reads its fields by name. Keyword arguments replace
    fields of the values.
    """

    def __init__(self, *values: object, **named: object) -> None:
        self._values = values
        self.__dict__ |= named

    def __getattr__(self, name: str) -> object:
        for value in self._values:
            if hasattr(value, name):
                return getattr(value, name)
        raise AttributeError(name)


class LegPlaceOut(Shape):
    """Where one leg placed the memory, and what that added to its fused score. `path` is the
    graph's: ids of memories and names of concepts that led to it.
    """

    rank: int | None = Field(description="Null if the graph walk did not reach the memory.")
    score: float
    contribution: float
    evidence: float = Field(
        description="How much the match means, from 0 to 1: the share of the query's information "
        "that the memory's words carry, or how far its cosine lies above that of unrelated texts."
    )
    path: list[str] = Field(default=[])


class LegReportOut(Shape):
    """The outcome of one leg in this recall."""

    status: LegStatus
    weight: float
    found: int
    took_ms: float
    note: str | None
    reason: Reason | None = Field(
        default=None, description="Why the leg had nothing to contribute to this query."
    )


class WordMatchOut(Shape):
    """A word of the query, and which characters of the memory's content match it best: from `start`
    to before `end`, counted in Unicode code points. `similarity` is a cosine, `weight` the word's
    share of the query.
    """

    word: str
    start: int
    end: int
    similarity: float
    weight: float


class RerankPlaceOut(Shape):
    """How the second stage scored a hit, and its place before. `words` are those that late
    interaction compared, the most telling first.
    """

    score: float
    former_place: int
    words: list[WordMatchOut] = Field(default=[])


class RerankReportOut(Shape):
    """The outcome of the second stage; unless it ran, the fused order stays."""

    status: StageStatus
    took_ms: float
    reranked: int
    note: str | None
    stage: Stage = "cross-encoder"


class ExplanationOut(Shape):
    """Why a hit is where it is: `score = fused × prior` when sorted by relevance. `rerank` is set
    for hits that the second stage judged, which are ordered by its score.
    """

    fused: float
    prior: float
    legs: dict[LegName, LegPlaceOut]
    rerank: RerankPlaceOut | None


class MatchedWordsOut(Shape):
    """How many words of the query the memory has, in any of their forms and without stop words."""

    matched: int
    asked: int


class PointerOut(Shape):
    """A memory that a hit links to without including it; `is_dangling` if it does not exist."""

    kind: str
    target: UUID
    is_dangling: bool


class PassageOut(Shape):
    """The part of a long text that matched: its characters from `start` up to `end`."""

    text: str
    start: int
    end: int


class NewerThanOut(Shape):
    """The older hit that this one updates, and how: "8000 became 9000"."""

    id: UUID
    reason: str


class HitOut(Shape):
    """A recalled memory. It `stands_for` memories that it supersedes and that were found; with
    `ranked_as`, the score and its explanation are that memory's. `attached` are the memories that
    resolve it; `pointers` name other link targets.
    """

    memory: MemoryOut
    score: float
    explanation: ExplanationOut | None
    stands_for: list[UUID] = Field(default=[])
    ranked_as: UUID | None = None
    attached: list[MemoryOut] = Field(default=[])
    pointers: list[PointerOut] = Field(default=[])
    duplicates: list[UUID] = Field(
        default=[], description="Memories with the same text that were found, too."
    )
    passage: PassageOut | None = Field(
        default=None, description="The part of a long text that matched."
    )
    newer_than: NewerThanOut | None = Field(
        default=None, description="An older hit that it updates, and therefore precedes."
    )
    matched_words: MatchedWordsOut | None = Field(
        default=None, description="With `explain`, how many words of the query it has."
    )

    @classmethod
    def from_hit(cls, hit: Hit, *, explain: bool) -> HitOut:
        return cls.model_validate(Joined(hit, explanation=hit if explain else None))

    def to_hit(self) -> Hit:
        why = self.explanation
        unexplained = {"fused": self.score, "prior": 1.0, "legs": {}}
        explained = unexplained if why is None else read_set(Hit, why)
        # A client asks for explanations, but never to count words.
        return build(Hit, self, matched_words=None, **explained)


class RecollectionOut(Shape):
    """The answer to a recall, best hit first. `degraded` lists legs that should have answered and
    did not; `legs` reports on every leg, and is left out unless the recall is explained. `rerank`
    reports on the second stage if it is on. `note` says if the answer came from somewhere else than
    requested.
    """

    hits: list[HitOut]
    degraded: list[LegName]
    fusion: str
    took_ms: float
    legs: dict[LegName, LegReportOut] | None
    rerank: RerankReportOut | None
    note: str | None = None
    hint: str | None = Field(
        default=None, description="How to find more, if recall uses words only."
    )
    is_weak: bool = Field(default=False, description="No hit is a clear match.")
    project: str | None = Field(default=None, description="The searched project, in full.")
    with_global: bool = Field(default=False, description=WITH_GLOBAL)

    @classmethod
    def from_recollection(cls, found: Recollection, *, explain: bool = True) -> RecollectionOut:
        hits = [HitOut.from_hit(hit, explain=explain) for hit in found.hits]
        legs = found.legs if explain else None
        return cls.model_validate(Joined(found, found.scope, hits=hits, legs=legs))

    def to_recollection(self) -> Recollection:
        hits = tuple(hit.to_hit() for hit in self.hits)
        legs = {name: build(LegReport, report) for name, report in (self.legs or {}).items()}
        return build(Recollection, self, hits=hits, legs=legs, scope=build(Scope, self))


RECOLLECTION: Final[Codec[Recollection]] = Codec(
    lambda: (RecollectionOut, RecollectionOut.to_recollection)
)
