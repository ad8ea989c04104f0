"""Distribute the tables over a Citus cluster: those of owners by owner, the others to every node.

Constraints, triggers and row-level security are removed first, and restored when the tables are
distributed: Citus supports no foreign key between a local and a distributed table, would fire the
triggers for each row it copies, and copies nothing under row-level security. What must still be
restored is stored in a table, so that an interrupted run can be continued (docs/adr/0046).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, LiteralString

import psycopg
from psycopg import errors, sql

from recollect.adapters.postgres.access import Roles, roles_of
from recollect.adapters.postgres.distribution import (
    LOGIN,
    NODES,
    ROOT,
    VERSION,
    Connection,
    read_distribution,
    read_tables,
    read_value,
)
from recollect.adapters.postgres.errors import translate
from recollect.adapters.postgres.migrate import connect
from recollect.core.admin.distribution import DISTRIBUTE_REMEDY, Distribution
from recollect.core.admin.timeouts import Timeouts
from recollect.core.errors import InvalidInput, StoreBusy, StoreError, StoreUnavailable
from recollect.resources import read_text

OLDEST: Final = 12
"""The first release in which identity columns may be integers, as the ids of spaces are."""
Report = Callable[[str, float], None]

_AVAILABLE = "select from pg_available_extensions where name = 'citus'"
_IS_COORDINATOR = "select groupid = 0 from pg_dist_local_group"
_OTHERS = """
select count(*) from pg_stat_activity
where datname = current_database() and application_name = 'recollect'
"""
# What is removed, with the statements that restore it.
_FOREIGN_KEYS = """
select c.relname, k.conname, pg_get_constraintdef(k.oid)
from pg_constraint k join pg_class c on c.oid = k.conrelid
where k.contype = 'f' and c.relname = any(%s) order by 1, 2
"""
_TRIGGERS = """
select c.relname, t.tgname, pg_get_triggerdef(t.oid), t.tgtype & 1 = 1
from pg_trigger t join pg_class c on c.oid = t.tgrelid
where not t.tgisinternal and c.relname = any(%s) order by 1, 2
"""
_SECURED = """
select relname, relforcerowsecurity from pg_class
where relrowsecurity and relname = any(%s) order by 1
"""
_WORKER_POLICIES = """
select tablename from pg_policies
where schemaname = current_schema() and policyname = 'worker_rows' and tablename = any(%s)
"""
_FUNCTIONS = """
select oid::regprocedure::text from pg_proc
where pronamespace = current_schema()::regnamespace and starts_with(proname, 'recollect_')
order by 1
"""
# A transaction on several nodes cannot notify; workers of a cluster poll instead.
_SILENT_FUNCTIONS = r"""
select regexp_replace(pg_get_functiondef(oid), 'perform pg_notify\([^;]*;', 'null;', 'g')
from pg_proc
where pronamespace = current_schema()::regnamespace and starts_with(proname, 'recollect_')
    and prosrc like '%pg_notify%'
"""
_KEEP_STEPS = """
create table if not exists distribution_steps (
    number bigint generated always as identity primary key, statement text not null)
"""
_KEEP_STEP = "insert into distribution_steps (statement) values (%s)"
_STEPS = "select number, statement from distribution_steps order by number"
_STEP_DONE = "delete from distribution_steps where number = %s"

# These replace the triggers that are called once for all rows of a statement. They call the
# functions in row_functions.sql or, for an added memory, those of a changed one.
ROW_TRIGGERS: Final[dict[str, LiteralString]] = {
    "changes_added": "after insert on memories for each row"
    " execute function recollect_row_change_added()",
    "changes_changed": "after update on memories for each row"
    " when (current_setting('recollect.analyzing', true) is distinct from 'on')"
    " execute function recollect_row_change_changed()",
    "changes_erased": "after delete on memories for each row"
    " execute function recollect_row_change_erased()",
    "graph_added": "after insert on memories for each row"
    " when (not new.is_sensitive and new.deleted_at is null)"
    " execute function recollect_graph_changed()",
    "embeddings_added": "after insert on memories for each row"
    " when (not new.is_sensitive and new.deleted_at is null)"
    " execute function recollect_embed_changed()",
    "graph_unmentioned": "after delete on memory_concepts for each row"
    " execute function recollect_row_graph_unmentioned()",
    "graph_unsaid": "after delete on edge_evidence for each row"
    " execute function recollect_row_graph_unsaid()",
    "graph_withdrawn": "after update on edge_evidence for each row"
    " execute function recollect_row_graph_unsaid()",
}


def read_row_functions() -> bytes:
    """Return the functions of these triggers, separated by empty lines."""
    return read_text("recollect.adapters.postgres", "row_functions.sql").encode()


def distribute(url: str, timeouts: Timeouts, *, shards: int, report: Report) -> Distribution:
    """Distribute what is not distributed yet. The database must be migrated."""
    with _explain(), connect(url, timeouts) as connection:
        check_ready(connection)
        before = read_distribution(connection)
        if not before.is_complete:
            _distribute(connection, before, shards, report)
        _pass_settings_on(connection)
        report("done", 1.0)
        return read_distribution(connection)


def check_ready(connection: Connection) -> None:
    """Raise an error that says what to do before the tables can be distributed."""
    _, _, owner, is_owner = connection.execute(LOGIN).fetchone() or ("", False, "", False)
    if not is_owner:
        raise StoreUnavailable(
            f"only the owner of the tables ({owner}) can distribute them",
            remedy=f"Log in as {owner} in RECOLLECT_DATABASE_URL.",
        )
    row = connection.execute(VERSION).fetchone()
    if row is None:
        if connection.execute(_AVAILABLE).fetchone() is None:
            raise StoreUnavailable(
                "this Postgres has no Citus",
                remedy=f"Install Citus {OLDEST} or newer on every node, add `citus` to"
                " shared_preload_libraries, and let a superuser run `create extension citus` in"
                " this database on each. See docs/citus.md.",
            )
        raise StoreUnavailable(
            "Citus is installed and not enabled in this database",
            remedy="Let a superuser run `create extension citus` in this database on every node,"
            " then add the workers with `select citus_add_node('HOST', 5432)`.",
        )
    if int(row[0].partition(".")[0]) < OLDEST:
        raise StoreUnavailable(
            f"Citus {row[0]} is too old",
            remedy=f"Upgrade to Citus {OLDEST} or newer on every node.",
        )
    if not read_value(connection, _IS_COORDINATOR):
        raise InvalidInput(
            "this is a worker of the cluster",
            field="RECOLLECT_DATABASE_URL",
            remedy="Name the coordinator in RECOLLECT_DATABASE_URL.",
        )
    if not connection.execute(NODES).fetchall():
        raise StoreUnavailable(
            "the cluster has no node for shards",
            remedy="Let a superuser run `select citus_add_node('HOST', 5432)` on the coordinator"
            " for each worker.",
        )
    if read_value(connection, _OTHERS):
        raise StoreBusy(
            "servers or workers are connected to this database", remedy=DISTRIBUTE_REMEDY
        )


def find_steps(connection: Connection, tables: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what is removed from these tables: each time the statement that removes it and the one
    that restores it.
    """
    for table, name, definition in connection.execute(_FOREIGN_KEYS, (tables,)).fetchall():
        names = {"table": sql.Identifier(table), "name": sql.Identifier(name)}
        off = sql.SQL("alter table {table} drop constraint {name}").format(**names)
        on = sql.SQL("alter table {table} add constraint {name} ").format(**names)
        yield off.as_string(connection), on.as_string(connection) + definition
    for table, name, definition, is_row in connection.execute(_TRIGGERS, (tables,)).fetchall():
        names = {"table": sql.Identifier(table), "name": sql.Identifier(name)}
        off = sql.SQL("drop trigger {name} on {table}").format(**names)
        by_row = sql.SQL("create trigger {name} ").format(**names).as_string(connection)
        on_again = definition if is_row else by_row + ROW_TRIGGERS[name]
        yield off.as_string(connection), on_again
    for table, is_forced in connection.execute(_SECURED, (tables,)).fetchall():
        alter = f"alter table {sql.Identifier(table).as_string(connection)}"
        yield f"{alter} disable row level security", f"{alter} enable row level security"
        if is_forced:
            off_again = f"{alter} no force row level security"
            yield off_again, f"{alter} force row level security"


def _distribute(connection: Connection, before: Distribution, shards: int, report: Report) -> None:
    tables = read_tables(connection)
    local = [name for name, _ in tables if name in before.local]
    report("preparing", 0.0)
    # For this session; the nodes need it too when shards are moved (docs/citus.md).
    connection.execute("set citus.enable_unsafe_triggers = on")
    connection.execute("set citus.shard_replication_factor = 1")
    connection.execute(sql.SQL("set citus.shard_count = {}").format(sql.Literal(shards)))
    _create_functions(connection)
    _remove_rules(connection, local)
    owned = dict(tables)
    # Tables that every node has come first: the triggers of the others read them.
    for done, table in enumerate(sorted(local, key=lambda name: owned[name])):
        report(f"distributing {table}", 0.1 + 0.6 * done / len(local))
        _distribute_table(connection, table, is_owned=owned[table])
    steps = connection.execute(_STEPS).fetchall()
    for done, (number, statement) in enumerate(steps):
        report("restoring constraints, triggers and policies", 0.7 + 0.2 * done / len(steps))
        with connection.transaction():
            connection.execute(statement)
            connection.execute(_STEP_DONE, (number,))
    for done, table in enumerate(owned):
        report(f"removing the local copy of {table}", 0.9 + 0.1 * done / len(owned))
        connection.execute("select truncate_local_data_after_distributing_table(%s)", (table,))
    for (silent,) in connection.execute(_SILENT_FUNCTIONS).fetchall():
        connection.execute(silent)
    connection.execute("drop table distribution_steps")


def _create_functions(connection: Connection) -> None:
    """Create the functions on every node. Citus finds those that a table or a trigger names, but
    not those that these call.
    """
    for statement in read_row_functions().split(b"\n\n"):
        connection.execute(statement)
    for (function,) in connection.execute(_FUNCTIONS).fetchall():
        connection.execute("select create_distributed_function(%s)", (function,))


def _remove_rules(connection: Connection, tables: Sequence[str]) -> None:
    """Remove constraints, triggers, row-level security, and the roles, which a cluster lacks."""
    with connection.transaction():
        connection.execute(_KEEP_STEPS)
        for off, on in [*find_steps(connection, tables)]:
            connection.execute(_KEEP_STEP, (on,))
            connection.execute(off)
        for (table,) in connection.execute(_WORKER_POLICIES, (tables,)).fetchall():
            dropped = sql.SQL("drop policy worker_rows on {}").format(sql.Identifier(table))
            connection.execute(dropped)
        _, _, owner, _ = connection.execute(LOGIN).fetchone() or ("", False, "", False)
        known = connection.execute(
            "select rolname from pg_roles where rolname = any(%s)", ([*roles_of(Roles.of(owner))],)
        ).fetchall()
        for (role,) in known:
            revoked = sql.SQL("revoke all on all tables in schema {} from {}").format(
                sql.Identifier(str(read_value(connection, "select current_schema()::text"))),
                sql.Identifier(role),
            )
            connection.execute(revoked)


def _distribute_table(connection: Connection, table: str, *, is_owned: bool) -> None:
    if not is_owned:
        connection.execute("select create_reference_table(%s)", (table,))
        return
    colocated = "none" if table == ROOT else ROOT
    connection.execute(
        "select create_distributed_table(%s, 'owner', colocate_with => %s)", (table, colocated)
    )


def _pass_settings_on(connection: Connection) -> None:
    """Have `set local` passed on to the nodes: the policies there read the owner."""
    login = connection.execute(LOGIN).fetchone() or ("",)
    setting = sql.SQL("alter role {} set citus.propagate_set_commands = 'local'")
    connection.execute(setting.format(sql.Identifier(login[0])))


@contextmanager
def _explain() -> Iterator[None]:
    """Report what Citus refuses and why: these statements are about tables and quote no rows."""
    try:
        yield
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"the login may not do this: {error.diag.message_primary}",
            remedy="Log in as the owner of the tables. A superuser must have run `create extension"
            " citus` and `citus_add_node` before; see docs/citus.md.",
        ) from error
    except psycopg.OperationalError as error:
        raise translate(error) from error
    except psycopg.Error as error:
        hint = error.diag.message_hint
        raise StoreError(
            f"Citus refused it: {error.diag.message_primary}{f' ({hint})' if hint else ''}",
            remedy="Fix the cause, then run `recollect database distribute` again: it continues"
            " where it stopped. Start no server before it has finished.",
        ) from error
