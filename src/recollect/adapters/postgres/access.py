"""Row-level security: whose rows a transaction may see. The second barrier, behind the owner
conditions of the statements.

Every transaction of the pool acts for one owner, as a worker, or as the administrator. It sets a
database role and the owner accordingly, both until it ends, so it works behind a
transaction-pooling PgBouncer. Policies on the tables do the rest (docs/adr/0040).

The roles are named after the owner of the tables: roles belong to the whole cluster, and with one
name for all, the login of one database could read another database of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, LiteralString

import psycopg
from psycopg import errors, sql

from recollect.adapters.postgres.distribution import check_usable, read_distribution
from recollect.adapters.postgres.errors import translate_errors
from recollect.adapters.postgres.migrate import connect
from recollect.core.admin.timeouts import Timeouts


class Everyone(Enum):
    """Access that is not limited to one owner."""

    WORKER = "worker"
    ADMIN = "admin"


WORKER: Final = Everyone.WORKER
"""Queues, keys and settings: only the tables in `_WORKER`."""
ADMIN: Final = Everyone.ADMIN
"""The login role itself: for indexes, statistics, and cleaning up after an erasure."""

Who = str | Everyone
"""An owner, or everyone."""


@dataclass(frozen=True, slots=True)
class Roles:
    app: str
    worker: str

    @classmethod
    def of(cls, table_owner: str) -> Roles:
        stem = table_owner.encode()[:56].decode("utf-8", "ignore")  # names have 63 bytes
        return cls(f"{stem}_app", f"{stem}_worker")


@dataclass(frozen=True, slots=True)
class Barrier:
    """`roles` is None if they could not be created; then `note` says what to do. The policies apply
    all the same, but the server is then subject to them with its login role, and searches words in
    large stores more slowly. A Citus cluster has no roles: Citus connects to its nodes as the role
    of the transaction, and these roles cannot log in (docs/adr/0046).
    """

    roles: Roles | None = None
    note: str = ""
    is_distributed: bool = False


_OWN: Final = "select, insert, update, delete"
_APP: Final = {
    "memories": _OWN,
    "own_memories": "select",
    "lexeme_stats": _OWN,
    "memory_links": _OWN,
    "memory_versions": _OWN,
    "owners": "select, insert, update",
    "changes": "select, insert, update",
    "removed_texts": _OWN,
    "former_names": _OWN,
    "revisions": _OWN,
    "concepts": _OWN,
    "concept_names": _OWN,
    "memory_concepts": _OWN,
    "concept_edges": _OWN,
    "edge_evidence": _OWN,
    "near_concepts": _OWN,
    "graph_versions": "select, insert, update",
    "extractions": _OWN,
    "extraction_budget": "select",
    "recalls": "select, insert, update",
    "recalls_kept": "select",
    "proposals": _OWN,
    "curation_journal": "select, insert, update",
    "curation_progress": "select, insert, update",
    "spaces": "select",
    "embeddings": _OWN,
    "token_vectors": "select, delete",
    "embedding_context": _OWN,
    "vector_outbox": "select, insert",
}
# `update` on memories is needed to lock rows; a worker does nothing else to them.
_WORKER: Final = {
    "memories": "select, update (session)",
    "memory_versions": "select",
    "embeddings": _OWN,
    "token_vectors": "select, insert, update",
    "embedding_context": "select, insert, delete",
    "vector_outbox": "select, insert, delete",
    "spaces": _OWN,
    "extractions": "select, update",
    "extraction_budget": "select, insert, update",
    "concepts": "select, update",
    "memory_concepts": "select",
    "concept_vectors": "select, insert, update",
    "lexeme_stats": "select",
    "changes": "select",
    "owners": "select",
    "curation_progress": "select",
    "curation_budget": "select, insert, update",
    "keys": "select, insert, update",
    "settings": "select, insert, update",
    "settings_audit": "select, insert, update",
    "sync_server": "select, insert, update",
    "erasure_logs": "select, insert, update",
}

# Any fixed number. If several servers start at once, one of them grants.
_LOCK: Final = "select pg_advisory_xact_lock(7305201846)"
_TABLES: Final = """
select c.relname, c.relrowsecurity, pg_get_userbyid(c.relowner), current_user::text
from pg_class c
where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v')
"""
_GRANTED: Final = """
select a.grantee::regrole::text, c.relname, lower(a.privilege_type)
from pg_class c
left join pg_attribute t on t.attrelid = c.oid and t.attacl is not null
cross join lateral aclexplode(c.relacl || t.attacl) a
where c.relnamespace = current_schema()::regnamespace and a.grantee <> 0
"""
_POLICIES: Final = """
select tablename, policyname, roles[1]::text from pg_policies where schemaname = current_schema()
"""
# Schemas that are searched, such as that of pgvector's types.
_CLOSED_SCHEMAS: Final = """
select s, r from unnest(current_schemas(false)) s, unnest(%s::text[]) r
where not has_schema_privilege(r, s, 'usage')
"""
# An administrator that has set an owner is limited to it as well, so that the barrier holds for a
# login without other roles. Without an owner it sees everything, as a dump must.
_ADMIN_ROWS: Final = "coalesce(current_setting('recollect.owner', true), '') = ''"


def create_rls_roles(url: str, timeouts: Timeouts) -> Barrier:
    """Create the roles, their rights and their policies where they are missing: after a migration,
    after a restore in another cluster, or once a superuser has created the roles.
    """
    with translate_errors(), connect(url, timeouts) as connection:
        tables = connection.execute(_TABLES).fetchall()
        owner, login = next(row[2:] for row in tables if row[0] == "memories")
        distribution = read_distribution(connection)
        if distribution.distributed or distribution.is_unfinished:
            check_usable(connection, distribution)
            _grant(connection, owner, None)
            return Barrier(is_distributed=True)
        roles = Roles.of(owner)
        if not _can_become(connection, roles):
            with suppress(errors.InsufficientPrivilege):
                create_roles(connection, owner, login)
        found = roles if _can_become(connection, roles) else None
        try:
            _grant(connection, owner, found)
        except errors.InsufficientPrivilege:
            found = None
        return Barrier(found, "" if found else _note(roles, owner, login))


def create_roles(connection: psycopg.Connection[Any], owner: str, *members: str) -> None:
    """Create the missing roles of the tables' `owner`, and grant them to their members."""
    roles = Roles.of(owner)
    for role in (roles.app, roles.worker):
        # Another database of this cluster may be migrated at the same time.
        known = connection.execute("select from pg_roles where rolname = %s", [role]).fetchone()
        if known is None:
            with suppress(errors.DuplicateObject, errors.UniqueViolation):
                connection.execute(sql.SQL("create role {} nologin").format(sql.Identifier(role)))
        for member in dict.fromkeys((owner, *members)):
            is_member = "select pg_has_role(%s::name, %s::name, 'usage')"
            if connection.execute(is_member, [member, role]).fetchone() == (True,):
                continue
            names = sql.Identifier(role), sql.Identifier(member)
            with suppress(errors.InternalError_, errors.UniqueViolation):
                connection.execute(sql.SQL("grant {} to {}").format(*names))


def _can_become(connection: psycopg.Connection[Any], roles: Roles) -> bool:
    try:
        with connection.transaction():
            for role in (roles.app, roles.worker):
                connection.execute("select set_config('role', %s, true)", [role])
    except (errors.InsufficientPrivilege, errors.InvalidParameterValue, errors.UndefinedObject):
        return False
    return True


def _grant(connection: psycopg.Connection[Any], owner: str, roles: Roles | None) -> None:
    if not [*_find_missing(connection, owner, roles)]:
        return
    with connection.transaction():
        connection.execute(_LOCK)
        for statement in _find_missing(connection, owner, roles):
            connection.execute(statement)


def _find_missing(
    connection: psycopg.Connection[Any], owner: str, roles: Roles | None
) -> Iterator[sql.Composed]:
    """Yield the statements that add what is missing in the rights and policies."""
    tables = {name: secured for name, secured, *_ in connection.execute(_TABLES).fetchall()}
    policies = {*connection.execute(_POLICIES).fetchall()}
    for table in (name for name, is_secured in tables.items() if is_secured):
        if (table, "admin_rows", owner) not in policies:
            yield from _policy(table, "admin_rows", owner, _ADMIN_ROWS)
    if roles is None:
        return
    for table in _WORKER:
        if tables.get(table) and (table, "worker_rows", roles.worker) not in policies:
            yield from _policy(table, "worker_rows", roles.worker, "true")
    for schema, role in connection.execute(_CLOSED_SCHEMAS, [[roles.app, roles.worker]]).fetchall():
        names = sql.Identifier(schema), sql.Identifier(role)
        yield sql.SQL("grant usage on schema {} to {}").format(*names)
    granted = {(role.strip('"'), *rest) for role, *rest in connection.execute(_GRANTED).fetchall()}
    for role, rights in ((roles.app, _APP), (roles.worker, _WORKER)):
        for table, needed in rights.items():
            kinds = {kind.split()[0] for kind in needed.split(", ")}
            if table in tables and any((role, table, kind) not in granted for kind in kinds):
                yield sql.SQL("grant {} on {} to {}").format(
                    sql.SQL(needed), sql.Identifier(table), sql.Identifier(role)
                )


def _policy(table: str, name: str, role: str, condition: str) -> Iterator[sql.Composed]:
    names = {"name": sql.Identifier(name), "table": sql.Identifier(table)}
    yield sql.SQL("drop policy if exists {name} on {table}").format(**names)
    yield sql.SQL("create policy {name} on {table} to {role} using ({condition})").format(
        role=sql.Identifier(role), condition=sql.SQL(condition), **names
    )


def _note(roles: Roles, owner: str, login: str) -> str:
    app, worker, *members = (
        sql.Identifier(name).as_string() for name in dict.fromkeys((*roles_of(roles), owner, login))
    )
    return (
        "the login role cannot create the roles of row-level security, so recall in large stores"
        f" is slow: let a superuser run `create role {app}; create role {worker}; grant {app},"
        f" {worker} to {', '.join(members)}` and restart Recollect"
    )


def roles_of(roles: Roles) -> tuple[str, str]:
    return roles.app, roles.worker


_OWNER: Final = "recollect.owner"
_SET: Final = f"select set_config('{_OWNER}', %(access_owner)s, true)"
_SET_BOTH: Final = f"{_SET}, set_config('role', %(access_role)s, true)"


def access_statement(who: Who, roles: Roles | None) -> tuple[str, dict[str, object]]:
    """Return the statement that makes a transaction act for `who`, and its parameters."""
    values: dict[str, object] = {"access_owner": who if isinstance(who, str) else ""}
    if roles is None:
        return _SET, values
    role = roles.app if isinstance(who, str) else roles.worker if who is WORKER else "none"
    return _SET_BOTH, {**values, "access_role": role}


def owner_setting(who: Who) -> dict[LiteralString, str]:
    """Return the same as a setting, for a cluster, where there are no roles."""
    return {_OWNER: who if isinstance(who, str) else ""}
