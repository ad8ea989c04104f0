"""The schema: migrated from nothing, taken down and up again, by several starters at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from alembic import command
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb
from tests.conftest import Cluster
from tests.waiting import SECONDS

from recollect.adapters.postgres.migrate import _migrating as migrating
from recollect.adapters.postgres.migrate import check_fit, heads, migrate, take_down
from recollect.adapters.postgres.store import PostgresStore
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
_MAIN = {"memories", "lexeme_stats", "keys", "settings"}
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
        return {row[0] for row in connection.execute("select version_num from alembic_version")}


def test_down_and_up_again_gives_the_same_schema(empty_database_url: str) -> None:
    before = schema(empty_database_url)
    assert migrate(empty_database_url) == ""
    fresh = schema(empty_database_url)
    assert {row[1] for row in fresh} >= _MAIN | _VECTORS
    take_down(empty_database_url)
    leftovers = [row for row in schema(empty_database_url) if row not in before]
    assert {row[1] for row in leftovers} <= {"alembic_version"}
    migrate(empty_database_url)
    assert schema(empty_database_url) == fresh


def test_without_pgvector_only_the_main_branch_goes_up_and_down(
    cluster: Cluster, empty_database_url: str
) -> None:
    cluster.without_vectors(empty_database_url)
    before = schema(empty_database_url)
    assert "create extension vector" in migrate(empty_database_url)
    fresh = schema(empty_database_url)
    assert {row[1] for row in fresh} >= _MAIN
    assert not {row[1] for row in fresh} & _VECTORS
    take_down(empty_database_url)
    leftovers = [row for row in schema(empty_database_url) if row not in before]
    assert {row[1] for row in leftovers} <= {"alembic_version"}
    migrate(empty_database_url)
    assert schema(empty_database_url) == fresh


def test_vectors_come_later_when_pgvector_does(cluster: Cluster, empty_database_url: str) -> None:
    cluster.without_vectors(empty_database_url)
    assert migrate(empty_database_url)
    cluster.with_vectors(empty_database_url)
    assert migrate(empty_database_url) == ""
    assert versions(empty_database_url) == heads()
    assert {row[1] for row in schema(empty_database_url)} >= _MAIN | _VECTORS


def test_four_starters_at_once_migrate_once(empty_database_url: str) -> None:
    starters = [
        subprocess.Popen([sys.executable, "-c", MIGRATE, empty_database_url]) for _ in range(4)
    ]
    assert [starter.wait(SECONDS) for starter in starters] == [0] * 4
    assert versions(empty_database_url) == heads()


@pytest.mark.parametrize("branch", ["main", "vectors"])
def test_a_database_of_a_newer_version_is_refused(database_url: str, branch: str) -> None:
    (newest,) = [head for head in heads() if head.endswith("v") == (branch == "vectors")]
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "update alembic_version set version_num = '9999' where version_num = %s", (newest,)
        )
    with pytest.raises(StoreUnavailable, match="newer version") as raised:
        migrate(database_url)
    assert "Upgrade Recollect" in raised.value.remedy


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_hold_every_character_is_refused(
    cluster: Cluster, encoding: str
) -> None:
    name = f"encoded_{encoding.lower()}"
    cluster.execute(
        sql.SQL(
            "create database {} encoding {} template template0"
            " locale_provider libc lc_collate 'C' lc_ctype 'C'"
        ).format(sql.Identifier(name), encoding)
    )
    try:
        with pytest.raises(StoreUnavailable, match=encoding) as raised:
            migrate(make_conninfo(cluster.url, dbname=name))
    finally:
        cluster.drop(name)
    assert "UTF-8" in raised.value.remedy


def test_a_release_of_postgres_that_is_too_old_is_refused() -> None:
    with pytest.raises(StoreUnavailable, match="release 14"):
        check_fit(140_012, "UTF8")
    check_fit(150_000, "UTF8")


def test_a_database_that_is_not_there_is_named_as_unreachable(tmp_path: Path) -> None:
    async def open_it() -> None:
        async with PostgresStore(f"host={tmp_path} dbname=recollect connect_timeout=2"):
            pass

    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        asyncio.run(open_it())


def test_links_that_an_older_server_kept_unread_become_links(empty_database_url: str) -> None:
    """A newer client pushed them before the upgrade; what is no link stays as it was."""
    with migrating(empty_database_url) as config:
        command.upgrade(config, "0003")
    target = "019cc2a7-4b59-7d3a-9a55-2f0e6b7c8d9e"
    kept: tuple[object, ...] = (
        [{"kind": "see_also", "target": target}],
        [{"kind": "see_also", "target": "nowhere"}],
        [{"target": target}],
        "x",
    )
    with psycopg.connect(empty_database_url) as connection:
        for number, links in enumerate(kept):
            id = UUID(int=number)
            connection.execute(
                "insert into memories (id, owner, content, category, tags, expanded_keywords,"
                " importance, is_sensitive, version, created_at, updated_at)"
                " values (%s, 'me', 'text', 'fact', '{}', '{}', 0.5, false, 1, now(), now())",
                (id,),
            )
            extra = Jsonb({"links": links, "mood": number})
            connection.execute("update changes set extra = %s where memory_id = %s", (extra, id))
    migrate(empty_database_url)
    with psycopg.connect(empty_database_url) as connection:
        found = connection.execute(
            "select m.links, c.extra from memories m join changes c on c.memory_id = m.id"
            " order by m.id"
        ).fetchall()
        assert found[0] == (kept[0], {"mood": 0})
        assert found[1:] == [([], {"links": kept[n], "mood": n}) for n in (1, 2, 3)]
        side = connection.execute("select memory_id, kind, target from memory_links").fetchall()
        assert side == [(UUID(int=0), "see_also", UUID(target))]


# Each space: name, state, when it was opened last (a transaction), when it was made (a day).
_FORMER: list[tuple[list[tuple[str, str, int, int]], list[str]]] = [
    ([], []),
    ([("a", "active", 10, 1)], []),
    ([("a", "retired", 10, 1), ("b", "active", 20, 2)], ["a"]),
    # after a way back, on a way back, and on the way to a new one
    ([("a", "active", 30, 1), ("b", "retired", 20, 2)], ["b"]),
    ([("a", "filling", 30, 1), ("b", "active", 20, 2)], ["a"]),
    ([("a", "active", 10, 1), ("b", "filling", 20, 2)], []),
    # the removal of a cancelled one was killed
    ([("a", "active", 10, 1), ("b", "retired", 20, 2)], []),
    ([("a", "retired", 10, 1), ("b", "active", 20, 2), ("c", "retired", 30, 3)], ["a"]),
    # the removal of an older one was killed: after a, b, a, c and after a, b, c
    ([("a", "retired", 30, 1), ("b", "retired", 20, 2), ("c", "active", 40, 3)], ["a"]),
    ([("a", "retired", 10, 1), ("b", "retired", 20, 2), ("c", "active", 30, 3)], ["b"]),
    # restored on a server that counts from a lower number
    ([("a", "retired", 1_000, 1), ("b", "active", 20, 2)], ["a"]),
]
_OLD_SPACE = """
insert into spaces (embedder, model, revision, dimension, distance, query_instruction, state,
    opened_in, created_at)
values (%(name)s, %(name)s, '', 2, 'cosine', '', %(state)s, %(opened)s::text::xid8,
    make_date(2026, 1, %(day)s))
"""


def test_a_database_that_marked_no_former_space_gets_it_marked(empty_database_url: str) -> None:
    migrate(empty_database_url)
    for spaces, former in _FORMER:
        with migrating(empty_database_url) as config:
            command.downgrade(config, "vectors@0007v")
        with psycopg.connect(empty_database_url) as connection:
            connection.execute("delete from spaces")
            for name, state, opened, day in spaces:
                params = {"name": name, "state": state, "opened": opened, "day": day}
                connection.execute(_OLD_SPACE, params)
        migrate(empty_database_url)
        with psycopg.connect(empty_database_url) as connection:
            found = connection.execute("select embedder from spaces where is_former").fetchall()
        assert [name for (name,) in found] == former, spaces
