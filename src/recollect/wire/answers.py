"""Outputs: memories, pages, statistics."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal
from uuid import UUID

from pydantic import Field

from recollect.core.admin.stats import CurationCounts, Stats
from recollect.core.graph.model import ExtractionProgress
from recollect.core.memory.memory import Memory, Scope
from recollect.core.memory.paging import Page
from recollect.core.recall.space import EmbeddingStats
from recollect.wire.values import VALID_FROM, VALID_UNTIL, WITH_GLOBAL, LinkOut, Moment, Shape


class MemoryOut(Shape):
    """A memory as stored."""

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
    links: list[LinkOut] = Field(default=[], description="Links to other memories.")
    valid_from: Moment | None = Field(default=None, description=VALID_FROM)
    valid_until: Moment | None = Field(default=None, description=VALID_UNTIL)
    changed_by: str | None = Field(default=None, description="Who made this version, if known.")
    superseded_by: UUID | None = Field(
        default=None,
        description="When read or listed: the memory that recall shows in its place.",
    )

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
            links=[LinkOut.from_link(link) for link in memory.links],
            valid_from=memory.valid_from,
            valid_until=memory.valid_until,
            changed_by=memory.changed_by,
            superseded_by=memory.superseded_by,
        )

    def to_memory(self) -> Memory:
        values = dict(self)
        values["tags"] = tuple(self.tags)
        values["expanded_keywords"] = tuple(self.expanded_keywords)
        values["links"] = tuple(link.to_link() for link in self.links)
        return Memory(**values)


class PageOut(Shape):
    """One page of a listing, newest first."""

    memories: list[MemoryOut]
    next_cursor: str | None = Field(
        description="Pass it to get the next page; null on the last one."
    )
    project: str | None = Field(default=None, description="The listed project, in full.")
    with_global: bool = Field(default=False, description=WITH_GLOBAL)

    @classmethod
    def from_page(cls, page: Page) -> PageOut:
        return cls(
            memories=[MemoryOut.from_memory(memory) for memory in page.memories],
            next_cursor=page.next_cursor,
            project=page.scope.project,
            with_global=page.scope.with_global,
        )

    def to_page(self) -> Page:
        scope = Scope(project=self.project, with_global=self.with_global)
        return Page(tuple(memory.to_memory() for memory in self.memories), self.next_cursor, scope)


class HistoryOut(Shape):
    """The versions of a memory, newest first; the first is the current one."""

    versions: list[MemoryOut]


class EmbeddingOut(Shape):
    """Progress of embedding the owner's memories. `parked` ones failed too often; `last_error` is
    the latest error. `embedder` is the name of the model; `languages` are those that it was made
    for, if that is known; `token_bytes` is the size of the token vectors. `unsent` changes are not
    yet known to Qdrant, if it is used.
    """

    space: str
    embedded: int
    waiting: int
    parked: int
    last_error: str | None
    languages: list[str] = Field(default_factory=list)
    token_bytes: int = 0
    unsent: int = 0
    embedder: str = ""

    @classmethod
    def from_stats(cls, stats: EmbeddingStats) -> EmbeddingOut:
        return cls(**asdict(stats))

    def to_stats(self) -> EmbeddingStats:
        return EmbeddingStats(**(dict(self) | {"languages": tuple(self.languages)}))


class ReadingOut(Shape):
    """Progress of reading the owner's memories for the concept graph; `to_compare` names wait to be
    compared with others. Calls and tokens are those of a language model, if one is used, for all
    owners of the server together.
    """

    extracted: int
    waiting: int
    parked: int
    last_error: str | None
    to_compare: int
    calls_today: int
    tokens_today: int


class CurationOut(Shape):
    """How many proposals wait for a decision, and how many the curator applied by itself that were
    not undone.
    """

    undecided: int
    applied: int


class StatsOut(Shape):
    """What an owner has stored, in numbers; languages are guessed; `expiring` is how many expire
    within a week. Without `embedding`, recall uses words only; without `graph`, there is no concept
    graph; without `curation`, there are neither undecided nor applied proposals.
    """

    memories: int
    forgotten: int
    sensitive: int
    expiring: int = 0
    by_category: dict[str, int]
    by_project: dict[str, int]
    by_language: dict[str, int] = Field(default_factory=dict)
    embedding: EmbeddingOut | None = None
    graph: ReadingOut | None = None
    curation: CurationOut | None = None

    @classmethod
    def from_stats(cls, stats: Stats) -> StatsOut:
        embedding = stats.embedding
        return cls(
            memories=stats.memories,
            forgotten=stats.forgotten,
            sensitive=stats.sensitive,
            expiring=stats.expiring,
            by_category=dict(stats.by_category),
            by_project=dict(stats.by_project),
            by_language=dict(stats.by_language),
            embedding=None if embedding is None else EmbeddingOut.from_stats(embedding),
            graph=None if stats.graph is None else ReadingOut(**asdict(stats.graph)),
            curation=None if stats.curation is None else CurationOut(**asdict(stats.curation)),
        )

    def to_stats(self) -> Stats:
        embedding = None if self.embedding is None else self.embedding.to_stats()
        graph = None if self.graph is None else ExtractionProgress(**dict(self.graph))
        curation = None if self.curation is None else CurationCounts(**dict(self.curation))
        done = {"embedding": embedding, "graph": graph, "curation": curation}
        return Stats(**(dict(self) | done))


class ForgottenOut(Shape):
    """Which memory was forgotten, and whether it was erased."""

    id: UUID
    forever: bool


class HealthOut(Shape):
    """The answer of a health check that passed; otherwise it is a problem."""

    status: Literal["ok"]
