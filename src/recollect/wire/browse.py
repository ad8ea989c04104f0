"""A table of memories, what is known about one, and what a hook would inject."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, Strict
from pydantic.json_schema import SkipJsonSchema

from recollect.core.imports.jsonl import HEADER, to_line
from recollect.core.memory.listing import MAX_OFFSET, MAX_WORDS, Listing, Order, SortBy, Table
from recollect.core.memory.memory import Memory, Scope
from recollect.core.memory.paging import MAX_PAGE
from recollect.usecases.agents.inject import Injection
from recollect.usecases.memory.browse import Details, VectorState
from recollect.usecases.memory.export import Taken
from recollect.wire.answers import MemoryOut
from recollect.wire.inputs import DEFAULT_PAGE, ScopeIn
from recollect.wire.values import PROJECT, WITH_GLOBAL, Id, Input, Moment, Name, Shape

_QueryBool = Annotated[bool, Strict(strict=False)]
_QueryInt = Annotated[int, Strict(strict=False)]


class TableIn(ScopeIn):
    """The rows of a table, as query parameters."""

    project: Name | SkipJsonSchema[None] = Field(default=None, description=PROJECT)
    since: Moment | SkipJsonSchema[None] = None
    until: Moment | SkipJsonSchema[None] = None
    with_global: _QueryBool = Field(default=False, description=WITH_GLOBAL)
    words: list[Name] = Field(
        default=[],
        description="Only texts that contain each of these, in any case.",
        json_schema_extra={"maxItems": MAX_WORDS},
    )
    is_sensitive: _QueryBool | SkipJsonSchema[None] = Field(
        default=None, description="Only sensitive memories, or only others."
    )
    expires_after: Moment | SkipJsonSchema[None] = Field(
        default=None, description="Only memories that expire later than this."
    )
    expires_by: Moment | SkipJsonSchema[None] = Field(
        default=None, description="Only memories that expire by then."
    )
    state: Literal["current", "forgotten", "all"] = "current"
    sort_by: SortBy = "created"
    order: Order = "desc"
    offset: _QueryInt = Field(default=0, json_schema_extra={"minimum": 0, "maximum": MAX_OFFSET})
    limit: _QueryInt = Field(
        default=DEFAULT_PAGE, json_schema_extra={"minimum": 1, "maximum": MAX_PAGE}
    )

    def to_listing(self) -> Listing:
        scope = super().to_scope()
        return Listing(
            scope=Scope(
                scope.project,
                scope.sessions,
                scope.categories,
                scope.tags,
                scope.since,
                scope.until,
                scope.with_global,
                forgotten=self.state != "current",
            ),
            words=tuple(self.words),
            is_sensitive=self.is_sensitive,
            only_forgotten=self.state == "forgotten",
            expires_after=self.expires_after,
            expires_by=self.expires_by,
            sort_by=self.sort_by,
            order=self.order,
            offset=self.offset,
            limit=self.limit,
        )


class TableOut(Shape):
    """Some rows, and how many there are in all."""

    memories: list[MemoryOut]
    total: int

    @classmethod
    def from_table(cls, table: Table) -> TableOut:
        memories = [MemoryOut.from_memory(memory) for memory in table.memories]
        return cls(memories=memories, total=table.total)


class DetailsOut(Shape):
    """A memory with its former versions, newest first, the concepts it mentions, and the state of
    its vector: `never` for a sensitive or forgotten memory, `off` where recall goes by words only.
    `parked` is the error of a text that failed too often.
    """

    memory: MemoryOut
    history: list[MemoryOut]
    concepts: list[str]
    vector: VectorState
    parked: str | None

    @classmethod
    def from_details(cls, details: Details) -> DetailsOut:
        return cls(
            memory=MemoryOut.from_memory(details.memory),
            history=[MemoryOut.from_memory(memory) for memory in details.history],
            concepts=[*details.concepts],
            vector=details.vector,
            parked=details.parked,
        )


class ExportIn(Input):
    """Which memories to export."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"ids": ["019cc2a7-4b59-7d3a-9a55-2f0e6b7c8d9e"]}]}
    )

    ids: list[Id] = Field(json_schema_extra={"maxItems": MAX_PAGE})
    sensitive: bool = Field(default=False, description="Include sensitive memories.")


class ExportOut(Shape):
    """The lines of a file that `recollect import` reads, newest memory first: a header, then a line
    for each memory. `left_out`: how many sensitive memories were not exported.
    """

    lines: list[str]
    exported: int
    left_out: int

    @classmethod
    def from_memories(cls, memories: Sequence[Memory], taken: Taken) -> ExportOut:
        lines = [HEADER, *map(to_line, memories)]
        return cls(lines=lines, exported=taken.exported, left_out=taken.left_out)


class WeekOut(Shape):
    """How many memories were stored in the week that starts on this Monday (UTC)."""

    week: date
    memories: int


class GrowthOut(Shape):
    """The last weeks, oldest first."""

    weeks: list[WeekOut]


class InjectIn(Input):
    """A prompt, as an agent's hook would see it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"prompt": "When can I deploy?"}]})

    prompt: str
    project: Name | None = Field(default=None, description=PROJECT)


class InjectOut(Shape):
    """What a hook would add to the prompt: the text, about how many tokens it is, and its memories.
    Of those `found`, some may be `sensitive`, `below` the floor, or too long (`unfit`).
    """

    text: str
    tokens: int
    memories: list[UUID]
    found: int
    sensitive: int
    below: int
    unfit: int

    @classmethod
    def from_injection(cls, injection: Injection, text: str, tokens: int) -> InjectOut:
        return cls(
            text=text,
            tokens=tokens,
            memories=[memory.id for memory in injection.memories],
            found=injection.found,
            sensitive=injection.sensitive,
            below=injection.below,
            unfit=injection.unfit,
        )
