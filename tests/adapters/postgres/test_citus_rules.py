"""The schema and every statement follow the rules by which Citus distributes tables and plans.

The adapter runs here as on a cluster, against a Postgres without Citus: the triggers are those of a
cluster, and every statement is sent as it would be there and then checked. `test_citus_cluster.py`
runs where there is a cluster.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from tests.adapters.postgres.citus_rules import (
    Schema,
    copies_rows,
    find_violations,
    statements_of,
)
from tests.conformance.samples import memory
from tests.conformance.stores import NORTH, SPACE
from tests.conftest import Cluster
from tests.privacy.test_row_level_security import (
    ALL,
    CONDITION,
    OWNER,
    READS,
    WRITES,
    Call,
    Rig,
    admin_url,
    intercepted,
)
from tests.privacy.test_row_level_security import rig as rig  # a fixture
from tests.strategies import MOMENT

from recollect.adapters.files.erasure_log import Erasure, ErasureLogs, Revocation
from recollect.adapters.postgres import store as postgres
from recollect.adapters.postgres.distribute import ROW_TRIGGERS, find_steps, read_row_functions
from recollect.adapters.postgres.distribution import limit_to, read_tables
from recollect.adapters.postgres.history.erasure_ledger import ErasureLedger
from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.session import to_postgres
from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors.queue import PostgresVectors
from recollect.core.errors import Conflict, RecollectError
from recollect.core.graph.extraction import BY_RULES
from recollect.core.memory.memory import EVERYWHERE
from recollect.core.privacy.erasure import Marks
from recollect.core.privacy.keys import Key, digest
from recollect.core.recall.passages import PassageVector
from recollect.core.recall.space import Space
from recollect.core.text.passages import Span

# ACROSS_OWNERS lists statements about rows of many owners, by how they begin, and why Citus runs
# them. None locks rows or joins on anything but the owner. NOT_SENT lists those that this test does
# not send.
NOT_SENT = {
    "select exists (select from memories) or": "before a restore, which refuses a cluster",
    "select count(*) filter (where due_at": "the backlog of all owners: aggregates",
    "select count(*) as waiting from vector_outbox": "the same of the outbox: an aggregate",
}

ACROSS_OWNERS = {
    "select e.owner from embeddings e": "whose jobs are due: groups by the owner",
    "select coalesce(sum(o.position": "how much is to examine: a join on the owner, an aggregate",
    "select distinct owner from embeddings": "whose jobs failed: a plain SELECT",
    "select owner from embeddings where space_id": "whose vectors are left: a plain SELECT",
    "select from embeddings where space_id": "whether vectors are left: a plain SELECT",
    "select from embeddings e where e.space_id": "whether a job waits: a plain SELECT",
    "select count(*) as rows, count(*) filter": "progress of all owners: aggregates",
    "select count(*) as unseen": "the same, joined with a reference table and on the owner",
    "select e.last_error from embeddings e": "the last error of all: ORDER BY and LIMIT",
    "select count(*) as missing": "a join on the owner, with a reference table, and aggregates",
    "select owner, id from memories where (owner, id)": "a sweep: ORDER BY and LIMIT",
    "select d.owner from extractions d": "whose memories are due: groups by the owner",
    "update extractions set attempts = 0": "an UPDATE of every shard, with immutable values",
    "update extractions set extracted_by = 0": "an UPDATE of every shard, with immutable values",
    "select count(*) filter (where x.extracted_by": "progress of all owners: aggregates",
    "select x.last_error from extractions x": "the last error of all: ORDER BY and LIMIT",
    "select count(*) as to_compare": "concepts of all owners: an aggregate",
    "select c.owner from concepts c": "whose names wait: groups by the owner",
    "select o.owner from concepts o": "whose names wait: groups by the owner",
    "delete from concept_vectors where space_id": "a DELETE of every shard",
    "select owner from memories where deleted_at": "owners with many memories: a UNION of owners",
    "select owner, analyzer, false": "whose memories to analyze again: ORDER BY and LIMIT",
    "select owner, analyzer, true": "the same, of former versions",
    "select o.owner, o.position": "the largest owners: a join on the owner, ORDER BY",
    "select memory_id as id, owner from changes": "erasures of all owners: a plain SELECT",
    "select distinct s.stem from memories m": "a join with a function, which every shard evaluates",
    "select distinct n.needle from": "the same",
    "select count(*) as rows from": "what is left of an owner, in each table: an aggregate",
}
# Elsewhere this sweeps all owners; on a cluster it goes owner by owner.
NOT_ON_A_CLUSTER = "with looked_at as materialized ("


@pytest.fixture
def schema(database_url: str, cluster: Cluster) -> Schema:
    with psycopg.connect(admin_url(cluster, database_url)) as connection:
        return read_schema(connection)


def read_schema(connection: psycopg.Connection[Any]) -> Schema:
    tables = read_tables(connection)
    volatility = connection.execute(
        "select proname, max(provolatile::text) from pg_proc group by 1"
    )
    return Schema(
        distributed=frozenset({name for name, is_owned in tables if is_owned} | {"own_memories"}),
        reference=frozenset(name for name, is_owned in tables if not is_owned),
        volatility=dict(volatility.fetchall()),
    )


def install_row_triggers(url: str) -> None:
    """Install the triggers that `distribute` creates, without the extension."""
    with psycopg.connect(url) as connection:
        connection.execute(read_row_functions())
        for off, on in [*find_steps(connection, [name for name, _ in read_tables(connection)])]:
            connection.execute(off)
            connection.execute(on)


@pytest.fixture
def distributed_url(cluster: Cluster) -> Iterator[str]:
    """A second database, to compare with the first."""
    yield cluster.create("as_distributed")
    cluster.drop("as_distributed")


@pytest.fixture
async def clustered(rig: Rig) -> Rig:
    """The rig of the row-level security test, set up as on a cluster."""
    install_row_triggers(rig.admin_url)
    rig.store.pool.is_distributed = True
    rig.store.pool.roles = None
    return rig


async def embed(rig: Rig) -> None:
    """Run every way a job can end."""
    space = rig.space
    edited = replace(memory(4), content="We talked about the door", version=2, category="episode")
    await rig.store.replace(replace(edited, session="s", project="coast"), based_on=1)
    jobs = await rig.vectors.claim(space, 10)
    assert jobs
    assert await rig.vectors.select_unchanged(space, jobs) == jobs
    await rig.vectors.fail(space, jobs, "no model")
    assert await rig.vectors.retry_parked(space) == len(jobs)
    jobs = await rig.vectors.claim(space, 10)
    await rig.vectors.give_back(space, jobs, "no model")
    await rig.vectors.clear_error(space)
    jobs = await rig.vectors.claim(space, 10)
    parts = [PassageVector(Span(0, 8), NORTH), PassageVector(Span(4, 12), NORTH)]
    passages = dict.fromkeys(jobs, parts)
    done = [(job, NORTH) for job in jobs]
    assert await rig.vectors.finish(space, done, passages) == len(jobs)
    assert (await rig.vectors.progress(space)).waiting == 0


async def change_space(rig: Rig) -> None:
    """Fill another space by a sweep, activate it, and drop the former one."""
    other = await rig.vectors.open_space("compass", Space("compass", "2", 2))
    while jobs := await rig.vectors.claim(other, 100):
        await rig.vectors.finish(other, [(job, NORTH) for job in jobs])
    assert (await rig.vectors.gap(other)).missing == 0
    await rig.vectors.build_indexes(other)
    assert await rig.vectors.pending_indexes(other) == 0
    await rig.vectors.activate(other)
    renamed = await rig.vectors.open_space("compass 2", Space("compass", "2", 2))
    assert (renamed.id, renamed.embedder) == (other.id, "compass 2")
    await rig.vectors.retire(rig.space)
    await rig.vectors.drop_space(rig.space)
    (rig.space,) = await rig.vectors.spaces()
    while await rig.store.graph.to_compare(rig.space, 100):
        await compare_names(rig)


async def build_index(rig: Rig) -> None:
    vectors = PostgresVectors(rig.store.pool, Limits(index_rows=1))
    await vectors.build_indexes(rig.space)
    assert (await vectors.survey(OWNER, EVERYWHERE)).space == rig.space
    marks = Marks(frozenset(ALL), frozenset({"lighthouse"}), owner=OWNER)
    assert await rig.store.eraser.remains(marks)


async def read_texts(rig: Rig) -> None:
    await rig.store.graph.read_again(BY_RULES)
    jobs = await rig.store.graph.claim(BY_RULES, 10)
    assert jobs
    await rig.store.graph.fail(jobs, "no reader")
    assert await rig.store.graph.retry_parked() == len(jobs)
    jobs = await rig.store.graph.claim(BY_RULES, 10)
    await rig.store.graph.give_back(jobs)
    assert (await rig.store.graph.progress(BY_RULES)).waiting > 0
    assert await rig.store.graph.spend(1)
    assert not await rig.store.graph.spend(1)
    assert not await rig.store.graph.spend(0)
    await rig.store.graph.spent(10)


async def compare_names(rig: Rig) -> None:
    space = await rig.store.graph.comparing_space()
    assert space is not None
    pending = await rig.store.graph.to_compare(space, 10)
    assert pending
    named = [(concept, NORTH) for concept in pending]
    await rig.store.graph.keep_vectors(space, named)
    near = await rig.store.graph.nearest(space, named, least=0.9, limit=5)
    await rig.store.graph.save_neighbours(space, list(zip(pending, near, strict=True)))


async def use_keys(rig: Rig) -> None:
    first, second, third = (
        Key(UUID(int=200 + number), OWNER, digest(f"rk_{number}"), "", MOMENT)
        for number in range(3)
    )
    assert await rig.store.keys.add_first_key(first)
    await rig.store.keys.add_key(second)
    assert await rig.store.keys.find_key(first.digest) == first
    assert len(await rig.store.keys.list_keys()) == 2
    await rig.store.keys.note_key_uses({first.id: MOMENT})
    assert await rig.store.keys.replace_key(first.id, MOMENT, third)
    assert await rig.store.keys.revoke_key(second.id, MOMENT)


async def change_settings(rig: Rig) -> None:
    await rig.store.write_settings({"floor": 1}, by=OWNER, at=MOMENT)
    assert await rig.store.read_settings() == {"floor": 1}
    assert len(await rig.store.settings_log(5)) == 1


async def examine(rig: Rig) -> None:
    assert await rig.store.curation.count_unexamined() > 0
    while (changed := await rig.store.curation.find_changed(5)) is not None:
        await rig.store.curation.mark_examined(changed)


async def restore(rig: Rig, folder: Path) -> None:
    """Open a database that is behind its erasure log: what was erased is erased again."""
    logs = ErasureLogs(folder)
    ledger = ErasureLedger(logs, rig.store.pool)
    await ledger.open()
    assert ledger.place is not None
    erased = [Erasure(ALL[6], OWNER), Erasure(UUID(int=88), OWNER)]
    logs.open(ledger.place.server).append([*erased, Revocation(UUID(int=9), MOMENT)])
    await ledger.replay()
    assert await rig.store.get(OWNER, ALL[6]) is None


EVERYONE: dict[str, Call] = {
    "analyze": lambda rig: rig.store.reanalyze(100),
    "embed": embed,
    "read texts": read_texts,
    "compare names": compare_names,
    "build an index": build_index,
    "change the space": change_space,
    "keys": use_keys,
    "settings": change_settings,
    "examine": examine,
    "maintain": lambda rig: rig.store.maintain(),
}


async def record(rig: Rig, folder: Path) -> list[str]:
    """Return every statement of the adapter, once, without its line breaks."""
    with intercepted() as interceptor:
        for call in (*READS.values(), *EVERYONE.values()):
            await call(rig)
        await restore(rig, folder)
        for call in WRITES.values():
            with suppress(RecollectError):
                await call(rig)
        await rig.store.eraser.erase_owner(OWNER)
    return list(dict.fromkeys(" ".join(text.split()) for text in interceptor.seen))


def is_across_owners(statement: str) -> bool:
    return statement.startswith(tuple(ACROSS_OWNERS))


@pytest.mark.anyio
async def test_statements_keep_the_rules(clustered: Rig, tmp_path: Path) -> None:
    with psycopg.connect(clustered.admin_url) as connection:
        schema = read_schema(connection)
    seen = await record(clustered, tmp_path)
    for text in seen:
        found = find_violations(text, schema)
        if found and is_across_owners(text):
            found = find_violations(text, schema, is_across_owners=True)
        assert not found, (found, text)
    unused = [start for start in ACROSS_OWNERS if not any(text.startswith(start) for text in seen)]
    assert not unused, unused
    of_one_owner = [
        text
        for text in seen
        if CONDITION.search(text) and not is_across_owners(text) and "create index" not in text
    ]
    assert len(of_one_owner) > 100
    for text in of_one_owner:
        assert find_violations(CONDITION.sub("true", text), schema), f"no violation in {text}"
    for text, pieces in read_source(schema):
        if not all(any(piece in statement for statement in seen) for piece in pieces):
            found = find_violations(limit_to(OWNER, text), schema)  # not sent here, but complete
            assert not found or text.strip().startswith(tuple(NOT_SENT)), (found, text)


def read_source(schema: Schema) -> Iterator[tuple[str, list[str]]]:
    """Return the texts in the adapter's source that name a table, and the parts of each that do."""
    tables = "|".join(schema.distributed | schema.reference)
    names_table = re.compile(rf"\b(?:from|into|update|join|using) (?:{tables})\b")
    folder = Path(postgres.__file__).parent
    shared = folder.parent / "sql"
    for file in sorted((*folder.rglob("*.py"), *shared.rglob("*.py"))):
        if {"migrations", "embedded", "distribute.py"} & {*file.relative_to(folder.parent).parts}:
            continue
        nodes = [*ast.walk(ast.parse(file.read_text()))]
        prose = [node.value for node in nodes if isinstance(node, ast.Expr)]
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
                is_shared = shared in file.parents or re.search(r"[ (]:[a-z]", node.value)
                text = to_postgres(node.value) if is_shared else node.value
                parts = [" ".join(part.split()) for part in re.split(r"\{\w*\}", text)]
                pieces = [part for part in parts if names_table.search(part)]
                if pieces and not pieces[0].startswith(NOT_ON_A_CLUSTER):
                    yield text, pieces


def test_keys_and_references_begin_with_the_owner(database_url: str, cluster: Cluster) -> None:
    with psycopg.connect(admin_url(cluster, database_url)) as connection:
        owned = {name for name, is_owned in read_tables(connection) if is_owned}
        unique = connection.execute(
            "select c.relname, x.relname, exists (select from pg_attribute a where"
            "   a.attrelid = c.oid and a.attnum = any(i.indkey) and a.attname = 'owner')"
            " from pg_index i join pg_class c on c.oid = i.indrelid"
            " join pg_class x on x.oid = i.indexrelid"
            " where (i.indisunique or i.indisexclusion)"
            " and c.relnamespace = current_schema()::regnamespace"
        ).fetchall()
        assert len(unique) > len(owned)
        for table, index, has_owner in unique:
            assert has_owner or table not in owned, index
        references = connection.execute(
            "select k.conname, c.relname, t.relname, k.confdeltype::text || k.confupdtype::text,"
            " (select attname from pg_attribute"
            "   where attrelid = c.oid and attnum = k.conkey[1]),"
            " (select attname from pg_attribute"
            "   where attrelid = t.oid and attnum = k.confkey[1])"
            " from pg_constraint k join pg_class c on c.oid = k.conrelid"
            " join pg_class t on t.oid = k.confrelid where k.contype = 'f'"
        ).fetchall()
        assert len(references) > 10
        for name, table, target, actions, column, target_column in references:
            assert {table, target} <= owned, name
            assert (column, target_column) == ("owner", "owner"), name
            assert not {*actions} & {"n", "d"}, f"{name} would set the owner"


def test_owned_tables_use_what_citus_supports(database_url: str, cluster: Cluster) -> None:
    with psycopg.connect(admin_url(cluster, database_url)) as connection:
        tables = read_tables(connection)
        owned = [name for name, is_owned in tables if is_owned]
        assert owned[0] == "memories"
        assert {name for name, is_owned in tables if not is_owned} >= {"keys", "spaces", "settings"}
        numbered = connection.execute(
            "select attrelid::regclass::text, attname from pg_attribute"
            " where attidentity <> '' and attrelid::regclass::text = any(%s)",
            (owned,),
        ).fetchall()
        assert numbered == [], "each node would number the rows by itself"
        policies = connection.execute(
            "select tablename, policyname from pg_policies where qual like '%select %'"
        ).fetchall()
        assert policies == [], "Citus takes no policy with a subquery"


def test_triggers_ask_for_rows_of_their_own_shard(database_url: str, cluster: Cluster) -> None:
    """On a cluster each is called for a row, and what it runs names the owner."""
    url = admin_url(cluster, database_url)
    with psycopg.connect(url) as connection:
        by_statement = connection.execute(
            "select tgname, tgfoid::regproc::text from pg_trigger"
            " where not tgisinternal and tgtype & 1 = 0"
        ).fetchall()
        assert {name for name, _ in by_statement} == {*ROW_TRIGGERS}
    install_row_triggers(url)
    with psycopg.connect(url) as connection:
        schema = read_schema(connection)
        triggers = connection.execute(
            "select tgname, tgtype & 1, tgconstraint, tgnewtable, tgoldtable from pg_trigger"
            " where not tgisinternal"
        ).fetchall()
        assert len(triggers) > len(ROW_TRIGGERS)
        for name, *kind in triggers:
            assert kind == [1, 0, None, None], name
        functions = connection.execute(
            "select p.proname, l.lanname, pg_get_functiondef(p.oid) from pg_proc p"
            " join pg_language l on l.oid = p.prolang"
            " where p.pronamespace = current_schema()::regnamespace"
            " and starts_with(p.proname, 'recollect_')"
        ).fetchall()
    replaced = {name for _, name in by_statement}
    checked = 0
    for name, language, definition in functions:
        if language == "sql":
            tables = schema.distributed | schema.reference
            named = [table for table in tables if re.search(rf"\bfrom {table}\b", definition)]
            assert not named, f"{name}: Citus takes no parameters of SQL functions"
        elif name not in replaced:
            for statement in statements_of(definition):
                found = find_violations(statement, schema, variables=True)
                assert not found, (name, found, statement)
                assert not copies_rows(statement), (name, statement)
                checked += 1
    assert checked > 50


@pytest.mark.anyio
async def test_row_triggers_do_what_statement_triggers_do(
    database_url: str, distributed_url: str, cluster: Cluster
) -> None:
    states, found = [], []
    removed = [(None, f"Text {number}") for number in (2, 3, 4)]
    for url in (database_url, distributed_url):
        async with PostgresStore(url) as store:
            if url == distributed_url:
                install_row_triggers(admin_url(cluster, url))
                store.pool.is_distributed = True
            assert store.vectors is not None
            await store.vectors.open_space("compass", SPACE)
            await store.add_many([memory(number, f"Text {number}") for number in range(1, 6)])
            await store.replace(memory(2, "Changed", version=2), based_on=1)
            await store.replace(memory(3, "Hidden", version=2, is_sensitive=True), based_on=1)
            await store.erase(OWNER, UUID(int=4))
            with pytest.raises(Conflict):
                await store.add_many([memory(4, "Text 4 again")])
            assert await store.add_all([memory(4, "Text 4 again")]) == set()
            found.append({*await store.find_removed(OWNER, [*removed, (None, "Text 1")])})
        states.append(read_state(admin_url(cluster, url)))
    assert states[0] == states[1]
    assert states[0]["owners"] == [(OWNER, 8)]
    assert found == [{*removed}] * 2


def read_state(url: str) -> dict[str, list[Any]]:
    queries = {
        "owners": "select owner, position from owners",
        "changes": "select memory_id, position, erased_at is null, project_mark is null"
        " from changes order by 1",
        "extractions": "select memory_id, content_hash from extractions order by 1",
        "embeddings": "select memory_id, space_id, content_hash from embeddings order by 1",
        "versions": "select memory_id, number, content from memory_versions order by 1, 2",
    }
    with psycopg.connect(url) as connection:
        return {name: connection.execute(query).fetchall() for name, query in queries.items()}


BAD = {
    "select id from memories where id = %s": "without its owner",
    "select m.id from memories m join embeddings e on e.memory_id = m.id where m.owner = %s":
        "embeddings (e) without its owner",
    "select m.id from memories m left join changes c on c.memory_id = m.id where m.owner = %s":
        "changes (c) without its owner",
    "select (select count(*) from changes c where c.owner = m.owner) from memories m"
    " where m.owner = %s": "changes (c) without its owner",
    "select from memories m where m.owner = %s or m.owner = %s": "without its owner",
    "select from (select owner from memories) m where m.owner = %s": "without its owner",
    "with o as (select %s::text as owner) select from memories m join o on o.owner = m.owner":
        "without its owner",
    "select owner from embeddings where vector is null limit 5 for update skip locked":
        "locks rows of more than one shard",
    "update memories set content = %s where id = %s": "without its owner",
    "update memories set owner = %s where owner = %s": "changes the owner",
    "update embeddings set due_at = clock_timestamp() where owner = %s": "clock_timestamp in SET",
    "update embeddings set due_at = case when attempts > 1 then now() end where owner = %s":
        "in CASE or COALESCE",
    "update embeddings set due_at = now() + interval '1 second' * attempts where owner = %s":
        "a stable function of a column",
    "delete from revisions r using memories m where r.memory_id = m.id and m.owner = %s":
        "revisions (r) without its owner",
    "insert into owners (position) values (1)": "without naming the owner",
    "insert into owners (owner, position) values (%s, (select max(position) from owners"
    " where owner = %s))": "a subquery in the values",
    "insert into owners (owner, position) values (%s, 1) on conflict do nothing":
        "a conflict target of owners without the owner",
    "insert into changes (owner, memory_id, position) values (%s, %s, 1) on conflict (owner,"
    " memory_id) do update set erased_at = now()": "now in DO UPDATE SET",
    "insert into lexeme_stats (owner, lexeme, ndoc) select %s, w, 1 from unnest(%s::text[]) w":
        "copies rows into lexeme_stats",
    "select from spaces s join pg_class c on c.oid = s.id": "joins a catalog",
    "select set_config('jit', 'off', true) from owners where owner = %s": "calls set_config",
    "update spaces set state = 'active' where exists (select from embeddings e where e.owner = %s)":
        "changes the reference table spaces",
    "with l as (select s.id from spaces s join embeddings e on e.space_id = s.id where e.owner = %s"
    " for update) update embeddings e set attempts = 0 from l where e.owner = %s":
        "locks rows in a CTE with the reference table spaces",
}  # fmt: skip


@pytest.mark.parametrize("statement", BAD)
def test_the_checker_finds(statement: str, schema: Schema) -> None:
    assert any(BAD[statement] in found for found in find_violations(statement, schema))


ACROSS_BAD = (
    "select from memories m join embeddings e on e.memory_id = m.id",
    "select owner from embeddings for update skip locked",
    "with d as (select owner from memories) delete from memories m using d where m.owner = d.owner",
)


@pytest.mark.parametrize("statement", ACROSS_BAD)
def test_the_checker_finds_across_owners(statement: str, schema: Schema) -> None:
    assert find_violations(statement, schema, is_across_owners=True)
