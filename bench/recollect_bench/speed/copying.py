"""Fill tables with COPY, as a worker would: row by row would take hours.

One function per table. Vectors are in `vectors.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from psycopg import AsyncConnection, sql

from recollect.adapters.postgres.rows import from_memory
from recollect.core.graph.concept_words import concept_key
from recollect.core.memory.memory import Memory
from recollect_bench.speed.corpus import Corpus

_COPIED: Final = (
    *("memories", "embeddings", "token_vectors"),
    *("concepts", "concept_names", "memory_concepts"),
)
_MEMORIES: Final = "copy memories ({}) from stdin"
_CONCEPTS: Final = "copy concepts (id, owner, key, name, kind) from stdin"
_NAMES: Final = "copy concept_names (owner, key, concept_id, name) from stdin"
_MENTIONS: Final = "copy memory_concepts (memory_id, key, concept_id, owner) from stdin"


@dataclass(frozen=True, slots=True)
class NamedConcept:
    id: UUID
    owner: str
    key: str
    name: str

    @classmethod
    def numbered(cls, corpus: Corpus, number: int, id: UUID) -> NamedConcept:
        """Name a concept by two capitalized words, different ones for each number."""
        first, second = divmod(number, len(corpus.words))
        name = f"{corpus.words[second].title()} {corpus.words[first].title()}"
        return cls(id, corpus.owner, concept_key(name), name)


async def allow_copy(connection: AsyncConnection[Any]) -> None:
    """Turn off forced row-level security, under which even a table's owner cannot COPY. The
    measured store is not affected: it acts in another role.
    """
    for table in _COPIED:
        statement = "alter table if exists {} no force row level security"
        await connection.execute(sql.SQL(statement).format(sql.Identifier(table)))


async def copy_memories(connection: AsyncConnection[Any], memories: Iterable[Memory]) -> None:
    """Copy memories with all columns of the store. Triggers run as for any insert."""
    rows = [from_memory(memory) for memory in memories]
    if not rows:
        return
    columns = sql.SQL(", ").join(map(sql.Identifier, rows[0]))
    async with (
        connection.cursor() as cursor,
        cursor.copy(sql.SQL(_MEMORIES).format(columns)) as copy,
    ):
        for row in rows:
            await copy.write_row(tuple(row.values()))


async def copy_concepts(connection: AsyncConnection[Any], concepts: Sequence[NamedConcept]) -> None:
    """Copy concepts, each with a single name."""
    async with connection.cursor() as cursor:
        async with cursor.copy(_CONCEPTS) as copy:
            for each in concepts:
                await copy.write_row((each.id, each.owner, each.key, each.name, "name"))
        async with cursor.copy(_NAMES) as copy:
            for each in concepts:
                await copy.write_row((each.owner, each.key, each.id, each.name))


async def copy_mentions(
    connection: AsyncConnection[Any], mentions: Iterable[tuple[UUID, NamedConcept]]
) -> None:
    """Copy which memory mentions which concept."""
    async with connection.cursor() as cursor, cursor.copy(_MENTIONS) as copy:
        for memory, concept in mentions:
            await copy.write_row((memory, concept.key, concept.id, concept.owner))
