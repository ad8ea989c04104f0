"""Migrations: from an empty database, repeated, with and without pgvector, by several at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from tests.conftest import Cluster
from tests.waiting import SECONDS

from recollect.adapters.postgres.migrate import REVISIONS, check_fit, migrate, migrate_to
from recollect.adapters.postgres.store import PostgresStore
from recollect.core.admin.timeouts import Timeouts
from recollect.core.errors import StoreUnavailable

_SCHEMA = """
select 'column', table_name, column_name, data_type, is_nullable, generation_expression
from information_schema.columns where table_schema = 'public'
union all
select 'index', tablename, indexname, indexdef, '', '' from pg_indexes where schemaname = 'public'
union all
select 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid), '', ''
from pg_constraint where connamespace = 'public'::regnamespace and contype <> 'n'
union all
select 'function', proname, '', prosrc, provolatile::text, ''
from pg_proc where pronamespace = 'public'::regnamespace and proname like 'recollect%'
union all
select 'trigger', tgrelid::regclass::text, tgname, pg_get_triggerdef(oid), '', ''
from pg_trigger where not tgisinternal
order by 1, 2, 3
"""
_TABLES = {"memories", "lexeme_stats", "keys", "settings"}
_VECTORS = {"spaces", "embeddings"}
MIGRATE = """
import sys
from recollect.adapters.postgres.migrate import migrate

assert migrate(sys.argv[1]) == ""
"""


def schema(url: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(_SCHEMA).fetchall()


def versions(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        return {row[0] for row in connection.execute("select revision from schema_revisions")}


def test_migrate_creates_all_tables_and_repeating_it_changes_nothing(
    empty_database_url: str,
) -> None:
    assert migrate(empty_database_url) == ""
    migrated = schema(empty_database_url)
    assert {row[1] for row in migrated} >= _TABLES | _VECTORS
    assert versions(empty_database_url) == {*REVISIONS}
    assert migrate(empty_database_url) == ""
    assert schema(empty_database_url) == migrated


def test_migrate_without_pgvector_creates_no_vector_tables(
    cluster: Cluster, empty_database_url: str
) -> None:
    cluster.without_vectors(empty_database_url)
    assert "create extension vector" in migrate(empty_database_url)
    found = {row[1] for row in schema(empty_database_url)}
    assert found >= _TABLES
    assert not found & _VECTORS


def test_migrate_adds_vectors_once_pgvector_is_available(
    cluster: Cluster, empty_database_url: str
) -> None:
    cluster.without_vectors(empty_database_url)
    assert migrate(empty_database_url)
    cluster.with_vectors(empty_database_url)
    assert migrate(empty_database_url) == ""
    assert versions(empty_database_url) == {*REVISIONS}
    assert {row[1] for row in schema(empty_database_url)} >= _TABLES | _VECTORS


def test_migrate_adopts_what_alembic_made(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("alter table schema_revisions rename column revision to version_num")
        connection.execute("alter table schema_revisions rename to alembic_version")
    before = schema(database_url)
    assert migrate(database_url) == ""
    assert versions(database_url) == {*REVISIONS}
    assert len(schema(database_url)) == len(before)


@pytest.mark.anyio
async def test_what_was_forgotten_before_is_recognized(empty_database_url: str) -> None:
    migrate_to(empty_database_url, ["0001"], Timeouts())
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("select set_config('recollect.owner', 'ada', false)")
        connection.execute(
            "insert into memories (owner, id, content, category, tags, expanded_keywords,"
            " importance, is_sensitive, version, created_at, updated_at, deleted_at)"
            " values ('ada', gen_random_uuid(), 'Ada hates Davos.', 'fact', '{}', '{}', 0, false,"
            " 1, now(), now(), now())"
        )
    async with PostgresStore(empty_database_url) as store:
        assert [*await store.find_removed("ada", [(None, "ada hates davos")])]


def test_four_processes_at_once_migrate_once(empty_database_url: str) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", MIGRATE, empty_database_url]) for _ in range(4)
    ]
    assert [process.wait(SECONDS) for process in processes] == [0] * 4
    assert versions(empty_database_url) == {*REVISIONS}


@pytest.mark.parametrize("branch", ["tables", "vectors"])
def test_migrate_refuses_a_database_of_a_newer_version(database_url: str, branch: str) -> None:
    newest = [head for head in REVISIONS if head.endswith("v") == (branch == "vectors")][-1]
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "update schema_revisions set revision = '9999' where revision = %s", (newest,)
        )
    with pytest.raises(StoreUnavailable, match="newer version") as raised:
        migrate(database_url)
    assert "Upgrade Recollect" in raised.value.remedy


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_migrate_refuses_an_encoding_that_cannot_hold_every_character(
    cluster: Cluster, encoding: str
) -> None:
    name = f"encoded_{encoding.lower()}"
    cluster.execute(
        sql.SQL(
            "create database {} encoding {} template template0"
            " locale_provider libc lc_collate 'C' lc_ctype 'C'"
        ).format(sql.Identifier(cluster.name(name)), encoding)
    )
    try:
        with pytest.raises(StoreUnavailable, match=encoding) as raised:
            migrate(cluster.url_of(name))
    finally:
        cluster.drop(name)
    assert "UTF-8" in raised.value.remedy


def test_check_fit_refuses_an_old_postgres() -> None:
    with pytest.raises(StoreUnavailable, match="release 14"):
        check_fit(140_012, "UTF8")
    check_fit(150_000, "UTF8")


@pytest.mark.anyio
async def test_store_reports_a_missing_database_as_unreachable(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        async with PostgresStore(f"host={tmp_path} dbname=recollect connect_timeout=2"):
            pass
