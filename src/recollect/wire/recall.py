"""The answer to a recall: the hits, why each is there, and what became of legs and stages."""

from __future__ import annotations

from dataclasses import asdict
from uuid import UUID

from pydantic import Field

from recollect.core.memory.links import Pointer
from recollect.core.memory.memory import Scope
from recollect.core.recall.request import (
    Hit,
    LegName,
    LegPlace,
    LegReport,
    LegStatus,
    NewerThan,
    Passage,
    Reason,
    Recollection,
    RerankPlace,
    RerankReport,
    Stage,
    StageStatus,
    WordMatch,
)
from recollect.wire.answers import MemoryOut
from recollect.wire.values import WITH_GLOBAL, Shape


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

    @classmethod
    def from_place(cls, place: RerankPlace) -> RerankPlaceOut:
        words = [WordMatchOut(**match._asdict()) for match in place.words]
        return cls(score=place.score, former_place=place.former_place, words=words)

    def to_place(self) -> RerankPlace:
        words = tuple(WordMatch(**dict(match)) for match in self.words)
        return RerankPlace(self.score, self.former_place, words)


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
        matched = hit.matched_words
        explanation = ExplanationOut(
            fused=hit.fused,
            prior=hit.prior,
            legs={
                name: LegPlaceOut(
                    rank=place.rank,
                    score=place.score,
                    contribution=place.contribution,
                    evidence=place.evidence,
                    path=[*place.path],
                )
                for name, place in hit.legs.items()
            },
            rerank=None if hit.rerank is None else RerankPlaceOut.from_place(hit.rerank),
        )
        return cls(
            memory=MemoryOut.from_memory(hit.memory),
            score=hit.score,
            explanation=explanation if explain else None,
            stands_for=[*hit.stands_for],
            ranked_as=hit.ranked_as,
            attached=[MemoryOut.from_memory(memory) for memory in hit.attached],
            pointers=[PointerOut(**asdict(pointer)) for pointer in hit.pointers],
            duplicates=[*hit.duplicates],
            passage=None if hit.passage is None else PassageOut(**asdict(hit.passage)),
            newer_than=None if hit.newer_than is None else NewerThanOut(**asdict(hit.newer_than)),
            matched_words=None if matched is None else MatchedWordsOut(**matched._asdict()),
        )

    def to_hit(self) -> Hit:
        why = self.explanation or ExplanationOut(fused=self.score, prior=1.0, legs={}, rerank=None)
        return Hit(
            memory=self.memory.to_memory(),
            score=self.score,
            fused=why.fused,
            prior=why.prior,
            legs={
                name: LegPlace(
                    place.rank,
                    place.score,
                    place.contribution,
                    tuple(place.path),
                    place.evidence,
                )
                for name, place in why.legs.items()
            },
            rerank=None if why.rerank is None else why.rerank.to_place(),
            stands_for=tuple(self.stands_for),
            ranked_as=self.ranked_as,
            attached=tuple(memory.to_memory() for memory in self.attached),
            pointers=tuple(Pointer(**dict(pointer)) for pointer in self.pointers),
            duplicates=tuple(self.duplicates),
            passage=None if self.passage is None else Passage(**dict(self.passage)),
            newer_than=None if self.newer_than is None else NewerThan(**dict(self.newer_than)),
        )


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
    def from_recollection(
        cls, recollection: Recollection, *, explain: bool = True
    ) -> RecollectionOut:
        reports = {
            name: LegReportOut(
                status=report.status,
                weight=report.weight,
                found=report.found,
                took_ms=report.took_ms,
                note=report.note,
                reason=report.reason,
            )
            for name, report in recollection.legs.items()
        }
        stage = recollection.rerank
        return cls(
            hits=[HitOut.from_hit(hit, explain=explain) for hit in recollection.hits],
            degraded=[*recollection.degraded],
            fusion=recollection.fusion,
            took_ms=recollection.took_ms,
            legs=reports if explain else None,
            rerank=None if stage is None else RerankReportOut(**asdict(stage)),
            note=recollection.note,
            hint=recollection.hint,
            is_weak=recollection.is_weak,
            project=recollection.scope.project,
            with_global=recollection.scope.with_global,
        )

    def to_recollection(self) -> Recollection:
        return Recollection(
            hits=tuple(hit.to_hit() for hit in self.hits),
            legs={
                name: LegReport(
                    report.status,
                    report.weight,
                    report.found,
                    report.took_ms,
                    report.note,
                    report.reason,
                )
                for name, report in (self.legs or {}).items()
            },
            fusion=self.fusion,
            took_ms=self.took_ms,
            rerank=None if self.rerank is None else RerankReport(**dict(self.rerank)),
            note=self.note,
            hint=self.hint,
            is_weak=self.is_weak,
            scope=Scope(project=self.project, with_global=self.with_global),
        )
