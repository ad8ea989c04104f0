"""Convert rows of Postgres to domain values and back, and a scope to a condition."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, LiteralString, NewType
from uuid import UUID

from psycopg.types.json import Jsonb

from recollect.adapters.postgres.search_vector import analyze_memory
from recollect.core.memory.fields import Converters, Kind
from recollect.core.memory.links import as_values, from_values
from recollect.core.memory.memory import STORED, Memory, Scope
from recollect.core.recall.settings import SettingChange

# By kind of field. The columns are named after the fields.
_TYPES: Final[Mapping[Kind, LiteralString]] = {
    "id": "uuid",
    "text": "text",
    "texts": "text[]",
    "number": "double precision",
    "count": "integer",
    "flag": "boolean",
    "moment": "timestamptz",
    "links": "jsonb",
}
_COLUMNS: Final[Mapping[LiteralString, LiteralString]] = {
    **{field.name: _TYPES[field.kind] for field in STORED},
    "search_vector": "tsvector",
    "languages": "text",
    "analyzer": "smallint",
}
_NEVER_CHANGED: Final = ("id", "owner", "created_at")


def _list(form: LiteralString, columns: Iterable[LiteralString]) -> LiteralString:
    return ", ".join(form.format(column) for column in columns)


MEMORY_COLUMNS: Final = _list("m.{}", (field.name for field in STORED))

# Null in almost all rows, which the planner knows from its statistics.
_VALID: Final[LiteralString] = (
    "(m.valid_from is null or m.valid_from <= %(valid_at)s)"
    " and (m.valid_until is null or m.valid_until > %(valid_at)s)"
)

Condition = NewType("Condition", str)
"""A condition on memories as `m`, with named parameters. A separate type, so that no other text can
become part of a statement by accident."""

# The columns that `from_memory` returns.
_INSERT: Final[LiteralString] = f"insert into memories ({_list('{}', _COLUMNS)})"
INSERT_MEMORY: Final[LiteralString] = f"{_INSERT} values ({_list('%({})s', _COLUMNS)})"
# Takes the result of `to_json` in one statement, which is parsed and planned once: three times as
# fast as one statement per memory. By id, as every writer of several rows locks them.
INSERT_MANY: Final[LiteralString] = f"""
{_INSERT}
select * from json_to_recordset(%(memories)s::json) as given
    ({", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())})
order by id
returning id
"""  # noqa: S608  # composed of constants
# Skips memories that exist or were erased.
INSERT_NEW = INSERT_MANY.replace(
    "order by id\nreturning",
    """where not exists (
    select from changes c where c.owner = %(owner)s and c.memory_id = given.id
        and c.erased_at is not null)
order by id
on conflict (owner, id) do nothing returning""",
)
UPDATE_MEMORY: Final[LiteralString] = f"""
update memories
set {_list("{0} = %({0})s", (name for name in _COLUMNS if name not in _NEVER_CHANGED))}
where owner = %(owner)s and id = %(id)s
"""  # noqa: S608  # composed of constants


def to_memory(row: Mapping[str, Any]) -> Memory:
    return Memory(**{field.name: field.convert(row[field.name], _READERS) for field in STORED})


def from_memory(memory: Memory) -> dict[str, Any]:
    row = {field.name: field.convert(getattr(memory, field.name), _WRITERS) for field in STORED}
    return row | analyze_memory(memory)


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
    """Return the condition on alias `m` that is true exactly for the memories of a scope."""
    conditions: list[LiteralString] = ["m.owner = %(owner)s"]
    if not scope.forgotten:
        conditions.append("m.deleted_at is null")
    params: dict[str, Any] = {"owner": owner}
    filters: tuple[tuple[str, LiteralString, Any], ...] = (
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
        filters = filters[1:]
    for name, condition, value in filters:
        if value is not None:
            conditions.append(condition)
            params[name] = value
    return Condition(" and ".join(conditions)), params


def utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


_READERS: Final[Converters] = {"texts": tuple, "moment": utc, "links": from_values}
_WRITERS: Final[Converters] = {"texts": list, "links": lambda links: Jsonb(as_values(links))}
