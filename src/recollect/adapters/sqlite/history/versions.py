"""What was known at a moment, on SQLite: current states that were written by then, and otherwise
the version that was valid.

The words of former texts have no index, so a search builds one of the scope in memory: its cost
grows with the scope, and its ranking is that of the store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from recollect.adapters.sqlite.lexical import search as words
from recollect.adapters.sqlite.rows import TERMS, from_row, id_list, inside, microseconds, to_row
from recollect.adapters.sqlite.schema.tables import TOKENIZER
from recollect.core.memory.memory import EVERYWHERE, STORED, Memory, Scope
from recollect.core.recall.successors import Fetched, Resolution, find_link_targets, successors_of

if TYPE_CHECKING:
    from recollect.core.recall.request import Candidate
    from recollect.core.recall.settings import WordQuery

# Columns of a version that differ from the memory's column of the same name. A version of a memory
# that is now sensitive is sensitive, too.
_ELSEWHERE: Final = {
    "id": "v.memory_id",
    "updated_at": "v.known_from",
    "is_sensitive": "v.is_sensitive OR m.is_sensitive",
}
_OF_A_MEMORY: Final = ", ".join(f"m.{field.name}" for field in STORED)
_OF_A_VERSION: Final = ", ".join(
    f"{_ELSEWHERE.get(field.name, f'v.{field.name}')} AS {field.name}" for field in STORED
)
# Versions store only the texts, not their terms.
_TERMS_OF_A_MEMORY: Final = ", ".join(f"m.{name}" for name in TERMS)
_TERMS_OF_A_VERSION: Final = ", ".join("NULL" for _ in TERMS)
_HELD: Final = "{0}.known_from <= :as_of AND {0}.known_until > :as_of"
_THEN: Final = f"""
SELECT {{wanted}} FROM (
    SELECT {_OF_A_MEMORY}, {_TERMS_OF_A_MEMORY} FROM memories m
    WHERE m.owner = :owner AND m.updated_at <= :as_of AND m.created_at <= :as_of
    UNION ALL
    SELECT {_OF_A_VERSION}, {_TERMS_OF_A_VERSION}
    FROM memory_versions v JOIN memories m ON m.owner = v.owner AND m.id = v.memory_id
    WHERE v.owner = :owner AND {_HELD.format("v")} AND v.created_at <= :as_of
        AND m.updated_at > :as_of AND v.number = (
            SELECT max(w.number) FROM memory_versions w
            WHERE w.owner = v.owner AND w.memory_id = v.memory_id AND {_HELD.format("w")}
        )
) m WHERE
"""  # noqa: S608  # built from constants
_FORMER: Final = f"""
SELECT {_OF_A_VERSION}
FROM memory_versions v JOIN memories m ON m.owner = v.owner AND m.id = v.memory_id
WHERE v.owner = :owner AND v.memory_id = :id ORDER BY v.number
"""  # noqa: S608  # built from constants

# The columns that a word search reads, and a word index without a copy of the texts.
_SCRATCH: Final = (
    "PRAGMA journal_mode = OFF",
    """
    CREATE TABLE memories (number INTEGER PRIMARY KEY, id TEXT, owner TEXT, importance REAL,
        created_at INTEGER, languages TEXT, content TEXT, deleted_at INTEGER)
    """,
    f"""
    CREATE VIRTUAL TABLE memory_words USING fts5(content, expanded_keywords, tags, category,
        content='', {TOKENIZER})
    """,
    "BEGIN",
)
_SCRATCH_MEMORY: Final = """
INSERT INTO memories (number, id, owner, importance, created_at, languages, content)
VALUES (:number, :id, :owner, :importance, :created_at, :languages, :content)
"""
_SCRATCH_WORDS: Final = """
INSERT INTO memory_words (rowid, content, expanded_keywords, tags, category)
VALUES (:number, :content_terms, :keyword_terms, :tag_terms, :category_terms)
"""


def search(
    connection: sqlite3.Connection, owner: str, scope: Scope, query: WordQuery, as_of: datetime
) -> list[Candidate]:
    condition, parameters = inside(owner, scope)
    parameters["as_of"] = microseconds(as_of)
    known = map(_add_terms, connection.execute(_THEN.format(wanted="*") + condition, parameters))
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as scratch:
        for statement in _SCRATCH:
            scratch.execute(statement)
        numbered = [{**row, "number": number} for number, row in enumerate(known, 1)]
        scratch.executemany(_SCRATCH_MEMORY, numbered)
        scratch.executemany(_SCRATCH_WORDS, numbered)
        return words.search(scratch, owner, EVERYWHERE, query)


def _add_terms(row: sqlite3.Row) -> dict[str, Any]:
    return to_row(from_row(row)) if row["content_terms"] is None else dict(row)


def fetch(
    connection: sqlite3.Connection, owner: str, ids: Collection[UUID], as_of: datetime
) -> Fetched:
    memories = _fetch_some(connection, owner, ids, as_of)
    successors = successors_of(_fetch_linked(connection, owner, as_of))
    return Fetched(memories, successors.keys() & memories.keys())


def follow(
    connection: sqlite3.Connection,
    owner: str,
    old: Collection[UUID],
    named: Collection[UUID],
    as_of: datetime,
) -> Resolution:
    ways = find_link_targets(_fetch_linked(connection, owner, as_of), old, named)
    return ways.with_memories(_fetch_some(connection, owner, ways.wanted, as_of).values())


def former_states(connection: sqlite3.Connection, owner: str, id: UUID) -> list[Memory]:
    """Return the former states of one memory, oldest first."""
    rows = connection.execute(_FORMER, {"owner": owner, "id": str(id)})
    return [from_row(row) for row in rows]


def _fetch_linked(connection: sqlite3.Connection, owner: str, as_of: datetime) -> list[Memory]:
    condition, parameters = inside(owner, EVERYWHERE)
    parameters["as_of"] = microseconds(as_of)
    return [*_read(connection, f"{condition} AND m.links <> '[]'", parameters)]


def _fetch_some(
    connection: sqlite3.Connection, owner: str, ids: Collection[UUID], as_of: datetime
) -> dict[UUID, Memory]:
    condition, parameters = inside(owner, EVERYWHERE)
    condition += " AND m.id IN (SELECT value FROM json_each(:ids))"
    named = {**parameters, "as_of": microseconds(as_of), "ids": id_list(ids)}
    return {memory.id: memory for memory in _read(connection, condition, named)}


def _read(
    connection: sqlite3.Connection, condition: str, parameters: dict[str, Any]
) -> Iterator[Memory]:
    return map(from_row, connection.execute(_THEN.format(wanted="*") + condition, parameters))
