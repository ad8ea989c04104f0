"""Stores of former versions open with their memories and versions, and can have lifetimes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from tests.conformance.samples import OWNER, ids, search
from tests.strategies import MOMENT

from recollect.adapters.sqlite.removed import add_fingerprint
from recollect.adapters.sqlite.schema.graph import read_graph
from recollect.adapters.sqlite.schema.script import by_name, read_statements
from recollect.adapters.sqlite.schema.tables import read_schema
from recollect.adapters.sqlite.schema.vectors import read_vectors
from recollect.adapters.sqlite.store import _WITH_ENDINGS as WITH_ENDINGS
from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.errors import StoreUnavailable
from recollect.core.memory.memory import Scope

pytestmark = pytest.mark.anyio

REMOVED_TEXTS = read_statements("removed_texts.sql")
CURATION = read_statements("curation.sql")
NAMES = (*read_statements("former_names.sql"), by_name(read_schema())["memories_by_ending"])
ADDED = {
    1: {*REMOVED_TEXTS, *NAMES, *read_vectors(), *read_graph(), *CURATION},
    2: {*REMOVED_TEXTS, *NAMES, *CURATION},
    3: {*REMOVED_TEXTS, *NAMES},
    4: {*NAMES},
}
LIFETIME = ("valid_from", "valid_until", "changed_by")
MEMORY = """
insert into memories (id, owner, category, importance, is_sensitive, version, created_at,
    updated_at, analyzer, languages, tags, expanded_keywords, content, content_terms,
    keyword_terms, tag_terms, category_terms)
values (?, 'ada', 'fact', 0, 0, 1, 1, 1, 0, '', '[]', '[]', 'Ada likes Zermatt', '', '', '', '')
"""
FORMER = """
insert into memory_versions (memory_id, owner, valid_from, valid_to, category, importance,
    is_sensitive, version, created_at, tags, expanded_keywords, content, links)
values (?, 'ada', 0, 1, 'fact', 0, 0, 1, 0, '[]', '[]', 'Ada likes Davos', '[]')
"""


def make_older(path: Path, version: int) -> None:
    """Make a store as that version did: without lifetimes."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for statement in read_schema():
            if statement not in ADDED[version]:
                connection.execute(statement)
        for name in ("versions_kept", "outbox_changed", "vector_scope_changed"):
            connection.execute(f"DROP TRIGGER IF EXISTS {name}")
        connection.execute("DROP INDEX memories_by_expiry")
        for table in ("memories", "memory_versions", "states"):
            for column in LIFETIME:
                connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        for new, old in (("known_from", "valid_from"), ("known_until", "valid_to")):
            connection.execute(f"ALTER TABLE memory_versions RENAME COLUMN {new} TO {old}")
        # What their triggers did does not matter: the upgrade replaces them.
        for name in ("versions_kept", "outbox_changed"):
            connection.execute(
                f"CREATE TRIGGER {name} AFTER DELETE ON memory_versions BEGIN SELECT 1; END"
            )
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute(MEMORY, (str(UUID(int=1)),))
        connection.execute(FORMER, (str(UUID(int=1)),))


@pytest.mark.parametrize("version", [1, 2])
async def test_an_older_store_gets_lifetimes(tmp_path: Path, version: int) -> None:
    path = tmp_path / "memories.db"
    make_older(path, version)
    async with SqliteStore(path) as store:
        found = await store.get(OWNER, UUID(int=1))
        assert found is not None
        assert (found.valid_from, found.valid_until, found.changed_by) == (None, None, None)
        assert [version.content for version in await store.versions(OWNER, found.id)] == [
            "Ada likes Davos"
        ]
        ended = replace(found, version=2, updated_at=MOMENT, valid_until=MOMENT, changed_by="cli")
        assert await store.replace(ended, based_on=1)
        assert await search(store, "zermatt", Scope(valid_at=MOMENT)) == []
        before = Scope(valid_at=MOMENT - timedelta(seconds=1))
        assert await search(store, "zermatt", before) == ids(1)
        assert (await store.versions(OWNER, found.id))[-1].valid_until is None


async def test_an_older_store_can_rename_projects(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for statement in read_schema():
            if statement not in ADDED[4]:
                connection.execute(statement)
        connection.execute(MEMORY, (str(UUID(int=1)),))
        add_fingerprint(connection)
        connection.execute("UPDATE memories SET project = 'shop'")
        connection.execute("PRAGMA user_version = 4")
    async with SqliteStore(path) as store:
        assert await store.rename_project(OWNER, "shop", "store", by=None, at=MOMENT) == 1
        assert await store.former_names(OWNER) == {"shop": "store"}
        assert await store.ids_with_endings(OWNER, ["0001"], forgotten=False) == ids(1)
    with closing(sqlite3.connect(path)) as connection:
        plan = connection.execute(
            f"EXPLAIN QUERY PLAN {WITH_ENDINGS}", (OWNER, "[]", False, None, None)
        ).fetchall()
        assert "memories_by_ending" in str(plan)


async def test_an_older_store_keeps_what_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for statement in read_schema():
            if statement not in ADDED[3]:
                connection.execute(statement)
        connection.execute(MEMORY, (str(UUID(int=1)),))
        connection.execute(MEMORY, (str(UUID(int=2)),))
        connection.execute(
            "UPDATE memories SET deleted_at = 5, content = 'Ada hates Davos' WHERE number = 2"
        )
        connection.execute("PRAGMA user_version = 3")
    async with SqliteStore(path) as store:
        found = await store.get(OWNER, UUID(int=1))
        assert found is not None
        assert await store.erase(OWNER, found.id)
        assert await store.add_all([found]) == set()
        texts = [(None, found.content), (None, "Ada hates Davos")]
        assert [*await store.find_removed(OWNER, texts)] == texts


@pytest.mark.parametrize(
    "lost", ["DROP TABLE memory_concepts", "ALTER TABLE memories DROP COLUMN session"]
)
async def test_a_store_that_an_upgrade_cannot_complete_stays_as_it_was(
    tmp_path: Path, lost: str
) -> None:
    path = tmp_path / "memories.db"
    make_older(path, 2)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        dropped = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in dropped.fetchall():
            if name not in ("versions_kept", "outbox_changed"):
                connection.execute(f"DROP TRIGGER {name}")
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '%session%'"
        ).fetchall():
            connection.execute(f"DROP INDEX {name}")
        connection.execute(lost)
    with pytest.raises(StoreUnavailable, match="is missing"):
        async with SqliteStore(path):
            pass
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
