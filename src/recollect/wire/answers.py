"""What is sent out: memories, pages, recollections, numbers."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from recollect.core.fusion import Fusion
from recollect.core.memory import Memory, Stats
from recollect.core.paging import Page
from recollect.core.recall import Hit, LegName, LegPlace, LegReport, LegStatus, Recollection
from recollect.core.recall_settings import LexicalRanking, RecallSettings
from recollect.wire.values import Moment, Shape


class MemoryOut(Shape):
    """A memory as it is stored."""

    id: UUID
    owner: str
    content: str
    category: str
    tags: list[str]
    expanded_keywords: list[str]
    importance: float
    is_sensitive: bool
    project: str | None
    session: str | None
    version: int
    created_at: Moment
    updated_at: Moment
    deleted_at: Moment | None = None

    @classmethod
    def from_memory(cls, memory: Memory) -> MemoryOut:
        return cls(
            id=memory.id,
            owner=memory.owner,
            content=memory.content,
            category=memory.category,
            tags=[*memory.tags],
            expanded_keywords=[*memory.expanded_keywords],
            importance=memory.importance,
            is_sensitive=memory.is_sensitive,
            project=memory.project,
            session=memory.session,
            version=memory.version,
            created_at=memory.created_at,
            updated_at=memory.updated_at,
            deleted_at=memory.deleted_at,
        )

    def to_memory(self) -> Memory:
        values = dict(self)
        values["tags"] = tuple(self.tags)
        values["expanded_keywords"] = tuple(self.expanded_keywords)
        return Memory(**values)


class PageOut(Shape):
    """One page of a listing, newest first."""

    memories: list[MemoryOut]
    next_cursor: str | None = Field(description="Pass it on for the next page; null on the last.")

    @classmethod
    def from_page(cls, page: Page) -> PageOut:
        return cls(
            memories=[MemoryOut.from_memory(memory) for memory in page.memories],
            next_cursor=page.next_cursor,
        )

    def to_page(self) -> Page:
        return Page(tuple(one.to_memory() for one in self.memories), self.next_cursor)


class LegPlaceOut(Shape):
    """Where one leg placed the memory, and what that added to its fused score."""

    rank: int
    score: float
    contribution: float


class LegReportOut(Shape):
    """What became of one leg in this recall."""

    status: LegStatus
    weight: float
    found: int
    took_ms: float
    note: str | None


class ExplanationOut(Shape):
    """Why a hit is where it is: `score = fused × prior` when sorted by relevance."""

    fused: float
    prior: float
    legs: dict[LegName, LegPlaceOut]


class HitOut(Shape):
    """A recalled memory."""

    memory: MemoryOut
    score: float
    explanation: ExplanationOut | None

    @classmethod
    def from_hit(cls, hit: Hit, *, explain: bool) -> HitOut:
        explanation = ExplanationOut(
            fused=hit.fused,
            prior=hit.prior,
            legs={
                name: LegPlaceOut(rank=one.rank, score=one.score, contribution=one.contribution)
                for name, one in hit.legs.items()
            },
        )
        return cls(
            memory=MemoryOut.from_memory(hit.memory),
            score=hit.score,
            explanation=explanation if explain else None,
        )

    def to_hit(self) -> Hit:
        why = self.explanation or ExplanationOut(fused=self.score, prior=1.0, legs={})
        return Hit(
            memory=self.memory.to_memory(),
            score=self.score,
            fused=why.fused,
            prior=why.prior,
            legs={
                name: LegPlace(one.rank, one.score, one.contribution)
                for name, one in why.legs.items()
            },
        )


class RecollectionOut(Shape):
    """The answer to a recall, best hit first. `degraded` names legs that should have answered and
    did not; `legs` tells of every leg, and is left out unless the recall is explained.
    """

    hits: list[HitOut]
    degraded: list[LegName]
    fusion: str
    took_ms: float
    legs: dict[LegName, LegReportOut] | None

    @classmethod
    def from_recollection(
        cls, recollection: Recollection, *, explain: bool = True
    ) -> RecollectionOut:
        reports = {
            name: LegReportOut(
                status=one.status,
                weight=one.weight,
                found=one.found,
                took_ms=one.took_ms,
                note=one.note,
            )
            for name, one in recollection.legs.items()
        }
        return cls(
            hits=[HitOut.from_hit(hit, explain=explain) for hit in recollection.hits],
            degraded=[*recollection.degraded],
            fusion=recollection.fusion,
            took_ms=recollection.took_ms,
            legs=reports if explain else None,
        )

    def to_recollection(self) -> Recollection:
        return Recollection(
            hits=tuple(hit.to_hit() for hit in self.hits),
            legs={
                name: LegReport(one.status, one.weight, one.found, one.took_ms, one.note)
                for name, one in (self.legs or {}).items()
            },
            fusion=self.fusion,
            took_ms=self.took_ms,
        )


class StatsOut(Shape):
    """What an owner has stored, in numbers."""

    memories: int
    forgotten: int
    sensitive: int
    by_category: dict[str, int]
    by_project: dict[str, int]

    @classmethod
    def from_stats(cls, stats: Stats) -> StatsOut:
        return cls(
            memories=stats.memories,
            forgotten=stats.forgotten,
            sensitive=stats.sensitive,
            by_category=dict(stats.by_category),
            by_project=dict(stats.by_project),
        )

    def to_stats(self) -> Stats:
        return Stats(**dict(self))


class ForgottenOut(Shape):
    """Which memory was forgotten, and whether it was erased."""

    id: UUID
    forever: bool


class SettingsOut(Shape):
    """How recall ranks, as the next request will obey it."""

    lexical_weight: float
    dense_weight: float
    graph_weight: float
    fusion: Fusion
    rrf_k: int
    depth: int
    deadline_ms: int
    lexical_ranking: LexicalRanking

    @classmethod
    def from_settings(cls, settings: RecallSettings) -> SettingsOut:
        return cls(**settings.as_dict())

    def to_settings(self) -> RecallSettings:
        return RecallSettings(**dict(self))


class HealthOut(Shape):
    """A probe's answer when all is well; otherwise it is a problem."""

    status: Literal["ok"]
