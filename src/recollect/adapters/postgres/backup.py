"""Write all tables to a backup, and load them into another database.

Every table in the catalog is copied as text in one snapshot: no list that could miss a new table,
no program that must be as new as the server, and any Postgres can read it. Rows are loaded with
triggers and foreign keys off, in one transaction that is rolled back if a row is not what was
written. Indexes of vectors are built later by the worker (docs/adr/0049).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

import psycopg
from psycopg import IsolationLevel, sql

from recollect import __version__
from recollect.adapters.files.backup_folder import Backup, write_manifest
from recollect.adapters.postgres.access import create_rls_roles
from recollect.adapters.postgres.distribution import read_distribution
from recollect.adapters.postgres.errors import translate_errors
from recollect.adapters.postgres.migrate import REVISIONS_TABLE, migrate_to, read_revisions
from recollect.core.admin.backup import Checksum, Manifest, Table, find_differences
from recollect.core.admin.timeouts import Timeouts
from recollect.core.errors import InvalidInput, StoreError

Connection = psycopg.Connection[Any]
Progress = Callable[[str, float], None]

# Where the tables are on disk. It is left out, so that a restored database begins a new epoch.
_PLACE: Final = ("sync_server", "place")

_TABLES: Final = """
select c.relname, c.relforcerowsecurity,
    array_agg(a.attname::text order by a.attnum) filter (where a.attgenerated = '')
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
    and c.relname <> %s
    and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
group by c.oid order by c.relname
"""
_SEQUENCES: Final = """
select c.relname, a.attname::text, pg_get_serial_sequence(quote_ident(c.relname), a.attname)
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
    and pg_get_serial_sequence(quote_ident(c.relname), a.attname) is not null
"""
_FOREIGN_KEYS: Final = """
select c.relname, k.conname, pg_get_constraintdef(k.oid)
from pg_constraint k join pg_class c on c.oid = k.conrelid
where k.contype = 'f' and c.relnamespace = current_schema()::regnamespace
order by k.oid
"""
# The text must not depend on the settings of either server.
_AS_TEXT: Final[LiteralString] = """
set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local intervalstyle = 'postgres';
set local bytea_output = 'hex'; set local extra_float_digits = 1; set local statement_timeout = 0;
set local idle_in_transaction_session_timeout = 0; set local client_encoding = 'UTF8';
set local recollect.owner = ''
"""
_ANY_DATA: Final = (
    "select exists (select from memories) or exists (select from changes)"
    " or exists (select from keys)"
)


@dataclass(frozen=True, slots=True)
class _Stored:
    name: str
    is_forced: bool
    columns: tuple[str, ...]

    @property
    def id(self) -> sql.Identifier:
        return sql.Identifier(self.name)


def write_backup(
    url: str, backup: Backup, now: datetime, timeouts: Timeouts, report: Progress
) -> Manifest:
    """Write a snapshot of every table to the backup."""
    with _open_snapshot(url, timeouts) as connection:
        revisions = read_revisions(connection)
        tables = []
        stored = _read_tables(connection)
        for number, table in enumerate(stored):
            report(table.name, number / len(stored))
            with backup.write_table(table.name) as file:
                tables.append(_copy_out(connection, table, file.write))
        server = connection.execute("select id from sync_server").fetchone()
        manifest = Manifest(
            "postgres",
            __version__,
            now,
            tuple(tables),
            revisions,
            _read_sequences(connection),
            None if server is None else str(server[0]),
        )
    write_manifest(backup, manifest)
    return manifest


def read_contents(url: str, timeouts: Timeouts) -> list[Table]:
    """Return what the tables of a database contain, to compare it with a backup."""
    with _open_snapshot(url, timeouts) as connection:
        return [
            _copy_out(connection, table, lambda _row: None) for table in _read_tables(connection)
        ]


def load_backup(
    url: str, backup: Backup, timeouts: Timeouts, report: Progress, *, replace: bool = False
) -> str:
    """Load a backup into an empty database; with `replace`, instead of what is there. All or
    nothing. Returns why vectors were left out; "" if they were not.
    """
    manifest = backup.read_manifest()
    note = ""
    with translate_errors(), _connect(url, timeouts) as connection:
        has_tables = _has_tables(connection)
        if has_tables:
            _check_target(connection, manifest, replace=replace)
    if not has_tables:
        note = migrate_to(url, manifest.revisions, timeouts)
    with translate_errors(), _connect(url, timeouts) as connection:
        connection.execute(_AS_TEXT)
        _load(connection, backup, manifest, report)
    return note


def compare(url: str, backup: Backup, timeouts: Timeouts, *, without_vectors: bool) -> list[str]:
    """Return the tables of a restored database that differ from the backup."""
    found = read_contents(url, timeouts)
    names = {table.name for table in found}
    manifest = backup.read_manifest()
    expected = [t for t in manifest.tables if t.name in names or not without_vectors]
    return find_differences(expected, found)


@contextmanager
def _connect(url: str, timeouts: Timeouts) -> Iterator[Connection]:
    """Open a connection with one transaction."""
    with psycopg.connect(
        url, prepare_threshold=None, connect_timeout=timeouts.database_connect
    ) as connection:
        yield connection


@contextmanager
def _open_snapshot(url: str, timeouts: Timeouts) -> Iterator[Connection]:
    """Open one snapshot of all owners, in which no migration changes a table."""
    with translate_errors(), _connect(url, timeouts) as connection:
        if not _has_tables(connection):
            raise InvalidInput(
                "the database has no tables of Recollect",
                field="RECOLLECT_DATABASE_URL",
                remedy="Name the database of a server, or start one with `recollect serve`.",
            )
    create_rls_roles(url, timeouts)  # without its policies no rows are visible
    with translate_errors(), _connect(url, timeouts) as connection:
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        connection.execute(_AS_TEXT)
        if read_distribution(connection).distributed:
            raise InvalidInput(
                "the database is distributed over a Citus cluster, whose nodes have no common "
                "snapshot",
                field="RECOLLECT_DATABASE_URL",
                remedy="Back up the nodes with the tools of the cluster; see docs/citus.md.",
            )
        locked = sql.SQL(", ").join(table.id for table in _read_tables(connection))
        connection.execute(sql.SQL("lock table {} in access share mode").format(locked))
        yield connection


def _has_tables(connection: Connection) -> bool:
    return connection.execute("select to_regclass('memories') is not null").fetchone() == (True,)


def _check_target(connection: Connection, manifest: Manifest, *, replace: bool) -> None:
    if not replace and connection.execute(_ANY_DATA).fetchone() == (True,):
        raise InvalidInput(
            "the database already has data",
            field="--into",
            remedy="Name an empty database, or pass --replace to delete what is there.",
        )
    revisions = read_revisions(connection)
    if not {*manifest.revisions} <= {*revisions} and revisions != manifest.revisions:
        raise InvalidInput(
            f"the database has another schema than the backup, which Recollect {manifest.made_by} "
            "made",
            field="--into",
            remedy="Name a database without tables: it is brought to the backup's schema first.",
        )


def _read_tables(connection: Connection) -> list[_Stored]:
    return [
        _Stored(name, is_forced, tuple(c for c in columns if (name, c) != _PLACE))
        for name, is_forced, columns in connection.execute(_TABLES, [REVISIONS_TABLE]).fetchall()
    ]


def _copy_out(connection: Connection, table: _Stored, write: Callable[[bytes], object]) -> Table:
    columns = sql.SQL(", ").join(map(sql.Identifier, table.columns))
    statement = sql.SQL("copy (select {} from {}) to stdout").format(columns, table.id)
    checksum = Checksum()
    with connection.cursor() as cursor, cursor.copy(statement) as rows:
        for chunk in rows:
            row = bytes(chunk)
            checksum.add(row)
            write(row)
    return Table(table.name, table.columns, checksum.rows, str(checksum))


def _read_sequences(connection: Connection) -> dict[str, int]:
    found = {}
    for table, column, sequence in connection.execute(_SEQUENCES).fetchall():
        name = sql.Identifier(*sequence.replace('"', "").split("."))
        query = sql.SQL("select last_value from {} where is_called").format(name)
        if (row := connection.execute(query).fetchone()) is not None:
            found[f"{table}.{column}"] = row[0]
    return found


def _load(connection: Connection, backup: Backup, manifest: Manifest, report: Progress) -> None:
    stored = _read_tables(connection)
    known = {table.name for table in stored}
    written = [table for table in manifest.tables if table.name in known]
    with _disable_rules(connection, stored):
        names = sql.SQL(", ").join(table.id for table in stored)
        connection.execute(sql.SQL("truncate {}").format(names))
        for number, table in enumerate(written):
            report(table.name, number / len(written))
            _copy_in(connection, backup, table)
    for name, last in manifest.sequences.items():
        table_name, _, column = name.partition(".")
        if table_name in known:
            connection.execute(
                "select setval(pg_get_serial_sequence(quote_ident(%s), %s), %s)",
                [table_name, column, last],
            )


def _copy_in(connection: Connection, backup: Backup, table: Table) -> None:
    columns = sql.SQL(", ").join(map(sql.Identifier, table.columns))
    statement = sql.SQL("copy {} ({}) from stdin").format(sql.Identifier(table.name), columns)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in backup.read_table(table):
            copy.write(row)


@contextmanager
def _disable_rules(connection: Connection, tables: Sequence[_Stored]) -> Iterator[None]:
    """Disable triggers, whose rows are in the backup, foreign keys, which would prescribe an order,
    and forced policies, under which nothing can be copied. All of them are restored before the
    transaction ends, and the foreign keys are checked.
    """
    keys = connection.execute(_FOREIGN_KEYS).fetchall()

    def alter(table: str, change: sql.Composable) -> None:
        statement = sql.SQL("alter table {} {}").format(sql.Identifier(table), change)
        connection.execute(statement)

    for table, name, _ in keys:
        alter(table, sql.SQL("drop constraint {}").format(sql.Identifier(name)))
    for stored in tables:
        alter(stored.name, sql.SQL("disable trigger user, no force row level security"))
    try:
        yield
    except psycopg.errors.DataError as error:
        raise StoreError(
            "a row of the backup does not fit its table",
            remedy="Nothing was changed. Restore it with the version that made it.",
        ) from error
    for stored in tables:
        alter(stored.name, sql.SQL("enable trigger user"))
        if stored.is_forced:
            alter(stored.name, sql.SQL("force row level security"))
    for table, name, definition in keys:
        alter(
            table,
            sql.SQL("add constraint {} {}").format(sql.Identifier(name), sql.SQL(definition)),
        )
