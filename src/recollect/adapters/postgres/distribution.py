"""How the database is distributed, read from the tables of Citus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, LiteralString, TypeVar

import psycopg

from recollect.adapters.postgres.errors import translate_errors
from recollect.adapters.postgres.migrate import REVISIONS_TABLE, connect
from recollect.core.admin.distribution import DISTRIBUTE_REMEDY, Distribution
from recollect.core.admin.timeouts import Timeouts
from recollect.core.errors import StoreUnavailable

ROOT: Final = "memories"
"""All distributed tables are co-located with this one."""
NOT_OURS: Final = (REVISIONS_TABLE, "distribution_steps")
"""Tables that stay on the coordinator: those of the migrations and of `distribute`."""

Connection = psycopg.Connection[Any]

VERSION = "select extversion from pg_extension where extname = 'citus'"
NODES = """
select nodename from pg_dist_node where isactive and noderole = 'primary' and shouldhaveshards
"""
LOST_NODES: Final = """
select nodename || ':' || nodeport as node from run_command_on_workers('select 1')
where not success order by 1
"""
# is_owned: the owner is part of the primary key. Not for keys: they are found by digest.
_TABLES = """
select c.relname, exists (
    select from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attnum = any(i.indkey)
    where i.indrelid = c.oid and i.indisprimary and a.attname = 'owner') as is_owned
from pg_class c
where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
    and c.relname <> all(%s)
order by c.relname <> %s, c.relname
"""
_DISTRIBUTED = """
select c.relname, p.partmethod = 'h'
from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
where c.relnamespace = current_schema()::regnamespace
"""
LOGIN = """
select current_user::text, r.rolsuper, pg_get_userbyid(c.relowner),
    pg_has_role(c.relowner, 'usage')
from pg_roles r, pg_class c where r.rolname = current_user and c.oid = to_regclass('memories')
"""
_UNFINISHED = "select to_regclass('distribution_steps') is not null"


def read_distribution(connection: Connection) -> Distribution:
    row = connection.execute(VERSION).fetchone()
    if row is None:
        return Distribution()
    found = dict(connection.execute(_DISTRIBUTED).fetchall())
    ours = [name for name, _ in read_tables(connection)]
    login = connection.execute(LOGIN).fetchone()
    return Distribution(
        version=row[0],
        nodes=len(connection.execute(NODES).fetchall()),
        distributed=sum(found.get(name, False) for name in ours),
        reference=sum(not found.get(name, True) for name in ours),
        local=tuple(name for name in ours if name not in found),
        is_unfinished=bool(read_value(connection, _UNFINISHED)),
        is_superuser=login is not None and login[1],
    )


def read_distribution_of(url: str, timeouts: Timeouts) -> Distribution:
    """Read the distribution of a database that is not open, and which nodes answer."""
    with translate_errors(), connect(url, timeouts) as connection:
        found = read_distribution(connection)
        if not found.version:
            return found
        return replace(found, lost=tuple(node for (node,) in connection.execute(LOST_NODES)))


def check_usable(connection: Connection, distribution: Distribution) -> None:
    """Raise StoreUnavailable if statements would fail on the nodes, or policies would not apply
    there: a node that does not receive the owner treats the login as the administrator.
    """
    if not distribution.is_complete:
        raise StoreUnavailable("the tables are only partly distributed", remedy=DISTRIBUTE_REMEDY)
    if read_value(connection, "show citus.propagate_set_commands") != "local":
        raise StoreUnavailable(
            "Citus does not pass the owner of a transaction on to its nodes",
            remedy="Run `recollect database distribute` with this login, or `alter role LOGIN set"
            " citus.propagate_set_commands = 'local'`, and restart Recollect.",
        )


def read_tables(connection: Connection) -> list[tuple[str, bool]]:
    """Return our tables, the root first, and whether each is distributed by owner."""
    return connection.execute(_TABLES, ([*NOT_OURS], ROOT)).fetchall()


def read_value(connection: Connection, query: LiteralString) -> object:
    row = connection.execute(query).fetchone()
    return None if row is None else row[0]


# Statements that lock or change rows of many owners. Citus locks rows, and changes rows found by a
# join, on one shard at a time. On a cluster such a statement therefore runs once for each owner, in
# the same transaction; elsewhere once for all of them. It has markers for the owner: `{e}` becomes
# a condition on the owner of `e`, or nothing (docs/adr/0046).

Row = TypeVar("Row")


class _Conditions(dict[str, LiteralString]):
    def __init__(self, *, is_named: bool) -> None:
        super().__init__()
        self._is_named = is_named

    def __missing__(self, alias: str) -> LiteralString:
        return f"and {alias}.owner = %(owner)s" if self._is_named else ""


_NAMED = _Conditions(is_named=True)
_UNNAMED = _Conditions(is_named=False)


def limit_to(owner: str | None, statement: LiteralString) -> LiteralString:
    """Limit the statement to one owner, its parameter `owner`; None: to no owner."""
    return statement.format_map(_UNNAMED if owner is None else _NAMED)


def split_by_owner(
    rows: Sequence[Row], owner_of: Callable[[Row], str], *, is_distributed: bool
) -> Iterable[tuple[str | None, Sequence[Row]]]:
    """Return the rows by owner on a cluster; elsewhere all of them together, with None."""
    if not is_distributed:
        return [(None, rows)]
    parts: dict[str, list[Row]] = {}
    for row in rows:
        parts.setdefault(owner_of(row), []).append(row)
    return sorted(parts.items())
