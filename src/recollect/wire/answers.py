"""Outputs: memories, pages, statistics."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final, Literal
from uuid import UUID

from pydantic import Field as ShapeField

from recollect.core.admin.stats import CurationCounts, Stats
from recollect.core.graph.model import ExtractionProgress
from recollect.core.memory.fields import Field
from recollect.core.memory.memory import FIELDS, Memory, Scope
from recollect.core.memory.paging import Page
from recollect.core.recall.space import EmbeddingStats
from recollect.wire.fields import (
    OUTPUTS,
    WORDS,
    or_default,
    or_default_if_later,
    shape_of,
    values_of,
)
from recollect.wire.values import WITH_GLOBAL, Shape

_SHOWN: Final = tuple(field for name, field in FIELDS.items() if name != "was_known")
_ABOUT: Final = {
    **WORDS,
    "changed_by": "Who made this version, if known.",
    "superseded_by": "When read or listed: the memory that recall shows in its place.",
}


def _default(field: Field) -> dict[str, Any]:
    return or_default(field) if field.name == "deleted_at" else or_default_if_later(field)


_MemoryOut: Any = shape_of(Shape, _SHOWN, OUTPUTS, _default, _ABOUT)


class MemoryOut(_MemoryOut, Shape):  # type: ignore[misc]  # derived
    """A memory as stored."""

    @classmethod
    def from_memory(cls, memory: Memory) -> MemoryOut:
        return cls.model_validate(memory, from_attributes=True)

    def to_memory(self) -> Memory:
        return Memory(**values_of(self, _SHOWN))


class PageOut(Shape):
    """One page of a listing, newest first."""

    memories: list[MemoryOut]
    next_cursor: str | None = ShapeField(
        description="Pass it to get the next page; null on the last one."
    )
    project: str | None = ShapeField(default=None, description="The listed project, in full.")
    with_global: bool = ShapeField(default=False, description=WITH_GLOBAL)

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
    languages: list[str] = ShapeField(default_factory=list)
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
    by_language: dict[str, int] = ShapeField(default_factory=dict)
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
