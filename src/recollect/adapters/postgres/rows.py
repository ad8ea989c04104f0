"""Rows of Postgres to values of the domain and back, and a scope as a condition."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, LiteralString, NewType
from uuid import UUID

from psycopg.types.json import Jsonb

from recollect.adapters.postgres.search_vector import analyzed
from recollect.core.memory.links import as_values, from_values
from recollect.core.memory.memory import Memory, Scope
from recollect.core.recall.settings import SettingChange

MEMORY_COLUMNS: Final[LiteralString] = (
    "m.id, m.owner, m.content, m.category, m.tags, m.expanded_keywords, m.importance,"
    " m.is_sensitive, m.project, m.session, m.version, m.created_at, m.updated_at, m.deleted_at,"
    " m.links, m.valid_from, m.valid_until, m.changed_by"
)

# Null in all but a few rows, which the planner knows.
_VALID: Final[LiteralString] = (
    "(m.valid_from is null or m.valid_from <= %(valid_at)s)"
    " and (m.valid_until is null or m.valid_until > %(valid_at)s)"
)

Condition = NewType("Condition", str)
"""On memories as `m`, with named places for its values. A type of its own, so that no text from
elsewhere can become a part of a statement unnoticed."""

# What `from_memory` gives a value for.
INSERT_MEMORY = """
insert into memories (id, owner, content, category, tags, expanded_keywords, importance,
    is_sensitive, project, session, version, created_at, updated_at, deleted_at, links,
    valid_from, valid_until, changed_by, search_vector, languages, analyzer)
values (%(id)s, %(owner)s, %(content)s, %(category)s, %(tags)s, %(expanded_keywords)s,
    %(importance)s, %(is_sensitive)s, %(project)s, %(session)s, %(version)s, %(created_at)s,
    %(updated_at)s, %(deleted_at)s, %(links)s, %(valid_from)s, %(valid_until)s, %(changed_by)s,
    %(search_vector)s, %(languages)s, %(analyzer)s)
"""
# What `to_json` gives, in one statement that is parsed and planned once: three times as fast as a
# statement a memory. By id, as every writer of several rows locks them.
INSERT_MANY = """
insert into memories (id, owner, content, category, tags, expanded_keywords, importance,
    is_sensitive, project, session, version, created_at, updated_at, deleted_at, links,
    valid_from, valid_until, changed_by, search_vector, languages, analyzer)
select * from json_to_recordset(%(memories)s::json) as given (id uuid, owner text, content text,
    category text, tags text[], expanded_keywords text[], importance double precision,
    is_sensitive boolean, project text, session text, version integer, created_at timestamptz,
    updated_at timestamptz, deleted_at timestamptz, links jsonb, valid_from timestamptz,
    valid_until timestamptz, changed_by text, search_vector tsvector, languages text,
    analyzer smallint)
order by id
returning id
"""
# Neither what is there nor what was erased.
INSERT_NEW = INSERT_MANY.replace(
    "order by id\nreturning",
    """where not exists (
    select from changes c where c.owner = %(owner)s and c.memory_id = given.id
        and c.erased_at is not null)
order by id
on conflict (owner, id) do nothing returning""",
)
UPDATE_MEMORY = """
update memories set content = %(content)s, category = %(category)s, tags = %(tags)s,
    expanded_keywords = %(expanded_keywords)s, importance = %(importance)s,
    is_sensitive = %(is_sensitive)s, project = %(project)s, session = %(session)s,
    version = %(version)s, updated_at = %(updated_at)s, deleted_at = %(deleted_at)s,
    links = %(links)s, valid_from = %(valid_from)s, valid_until = %(valid_until)s,
    changed_by = %(changed_by)s, search_vector = %(search_vector)s, languages = %(languages)s,
    analyzer = %(analyzer)s
where owner = %(owner)s and id = %(id)s
"""


def to_memory(row: Mapping[str, Any]) -> Memory:
    return Memory(
        id=row["id"],
        owner=row["owner"],
        content=row["content"],
        category=row["category"],
        tags=tuple(row["tags"]),
        expanded_keywords=tuple(row["expanded_keywords"]),
        importance=row["importance"],
        is_sensitive=row["is_sensitive"],
        project=row["project"],
        session=row["session"],
        version=row["version"],
        created_at=utc(row["created_at"]),
        updated_at=utc(row["updated_at"]),
        deleted_at=None if row["deleted_at"] is None else utc(row["deleted_at"]),
        links=from_values(row["links"]),
        valid_from=None if row["valid_from"] is None else utc(row["valid_from"]),
        valid_until=None if row["valid_until"] is None else utc(row["valid_until"]),
        changed_by=row["changed_by"],
    )


def from_memory(memory: Memory) -> dict[str, Any]:
    return {
        "id": memory.id,
        "owner": memory.owner,
        "content": memory.content,
        "category": memory.category,
        "tags": list(memory.tags),
        "expanded_keywords": list(memory.expanded_keywords),
        "importance": memory.importance,
        "is_sensitive": memory.is_sensitive,
        "project": memory.project,
        "session": memory.session,
        "version": memory.version,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "deleted_at": memory.deleted_at,
        "links": Jsonb(as_values(memory.links)),
        "valid_from": memory.valid_from,
        "valid_until": memory.valid_until,
        "changed_by": memory.changed_by,
        **analyzed(memory),
    }


def to_json(memories: Iterable[Memory]) -> str:
    rows = [from_memory(memory) | {"links": as_values(memory.links)} for memory in memories]
    return json.dumps(rows, default=str)


def to_setting_change(row: Mapping[str, Any]) -> SettingChange:
    return SettingChange(
        row["name"], row["old_value"], row["new_value"], row["changed_by"], utc(row["changed_at"])
    )


def within(
    owner: str, scope: Scope, exclude: Collection[UUID] = ()
) -> tuple[Condition, dict[str, Any]]:
    """The condition on alias `m` that holds exactly for the memories a scope covers."""
    conditions: list[LiteralString] = ["m.owner = %(owner)s"]
    if not scope.forgotten:
        conditions.append("m.deleted_at is null")
    params: dict[str, Any] = {"owner": owner}
    wanted: tuple[tuple[str, LiteralString, Any], ...] = (
        ("project", "m.project = %(project)s", scope.project),
        ("sessions", "m.session = any(%(sessions)s)", list(scope.sessions) or None),
        ("categories", "m.category = any(%(categories)s)", list(scope.categories) or None),
        ("tags", "m.tags @> %(tags)s", list(scope.tags) or None),
        ("since", "m.created_at >= %(since)s", scope.since),
        ("until", "m.created_at < %(until)s", scope.until),
        ("valid_at", _VALID, scope.valid_at),
        ("exclude", "m.id <> all(%(exclude)s)", list(exclude) or None),
    )
    if scope.with_global:
        also: LiteralString = " or m.project = %(project)s" if scope.project is not None else ""
        conditions.append(f"(m.project is null{also})")
        params["project"] = scope.project
        wanted = wanted[1:]
    for name, condition, value in wanted:
        if value is not None:
            conditions.append(condition)
            params[name] = value
    return Condition(" and ".join(conditions)), params


def utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)
