"""Convert between memories and rows: times as microseconds, lists as JSON, scopes as conditions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from recollect.core.memory.fields import Converters, Field
from recollect.core.memory.links import as_values, from_values
from recollect.core.memory.memory import STORED, Memory, Scope

if TYPE_CHECKING:
    from recollect.core.recall.settings import SettingChange

Parameters = dict[str, Any]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_ANY_SESSION: Final = "m.session IN (SELECT value FROM json_each(:sessions))"
_ANY_CATEGORY: Final = "m.category IN (SELECT value FROM json_each(:categories))"
_ALL_TAGS: Final = (
    "NOT EXISTS (SELECT value FROM json_each(:tags) EXCEPT SELECT value FROM json_each(m.tags))"
)
_VALID: Final = (
    "(m.valid_from IS NULL OR m.valid_from <= :valid_at)"
    " AND (m.valid_until IS NULL OR m.valid_until > :valid_at)"
)

# The search terms of a memory.
TERMS: Final = ("languages", "content_terms", "keyword_terms", "tag_terms", "category_terms")
# The columns that `to_row` returns: as columns, as values, and as a change of all but the id.
_NAMES: Final = (*(field.name for field in STORED), "analyzer", *TERMS)
COLUMNS: Final = ", ".join(_NAMES)
VALUES: Final = ", ".join(f":{name}" for name in _NAMES)
CHANGES: Final = ", ".join(f"{name} = :{name}" for name in _NAMES if name not in ("id", "owner"))
REPLACE: Final = f"""
UPDATE memories SET {CHANGES} WHERE owner = :owner AND id = :id AND version = :based_on
"""  # noqa: S608  # composed of constants

_GET_MANY: Final = """
SELECT * FROM memories
WHERE owner = ? AND (? OR deleted_at IS NULL) AND id IN (SELECT value FROM json_each(?))
"""
_UNSENT: Final = """
SELECT id FROM outbox WHERE owner = :owner
UNION SELECT m.id FROM memories m JOIN synced s ON s.owner = m.owner AND s.id = m.id
WHERE s.withheld AND m.owner = :owner
"""
_FORMER: Final = "SELECT name, project FROM former_names WHERE owner = ?"
_PROJECTS: Final = """
WITH RECURSIVE project (name) AS (
    SELECT min(project) FROM memories
    WHERE owner = :owner AND deleted_at IS NULL AND project IS NOT NULL
    UNION ALL
    SELECT (
        SELECT min(m.project) FROM memories m
        WHERE m.owner = :owner AND m.deleted_at IS NULL AND m.project > project.name
    ) FROM project WHERE name IS NOT NULL
)
SELECT name FROM project WHERE name IS NOT NULL
"""


def to_row(memory: Memory) -> Parameters:
    row = {field.name: to_column(field, getattr(memory, field.name)) for field in STORED}
    return row | analyze_memory(memory)


def to_column(field: Field, value: Any) -> Any:  # noqa: ANN401  # of the field's kind
    return field.convert(value, _WRITERS)


def analyze_memory(memory: Memory) -> Parameters:
    """Return the search terms of a memory, as columns of its row."""
    from recollect.core.text.terms import VERSION, analyze_fields

    terms = analyze_fields(memory.content, memory.expanded_keywords, memory.tags, memory.category)
    content, keywords, tags, category = map(_join_words, terms.fields)
    return {
        "analyzer": VERSION,
        "languages": " ".join(terms.languages),
        "content_terms": content,
        "keyword_terms": keywords,
        "tag_terms": tags,
        "category_terms": category,
    }


def _join_words(field: Iterable[tuple[str, ...]]) -> str:
    return " ".join(form for forms in field for form in forms)


def from_row(row: sqlite3.Row) -> Memory:
    return Memory(**{field.name: field.convert(row[field.name], _READERS) for field in STORED})


def to_setting_change(row: sqlite3.Row) -> SettingChange:
    from recollect.core.recall.settings import SettingChange

    return SettingChange(
        name=row["name"],
        old=None if row["old_value"] is None else json.loads(row["old_value"]),
        new=json.loads(row["new_value"]),
        by=row["changed_by"],
        at=moment(row["changed_at"]),
    )


def microseconds(time: datetime) -> int:
    """Return the microseconds since 1970: exact, and in order whatever the time zone."""
    return (time - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    return _EPOCH + value * _MICROSECOND


def id_list(ids: Iterable[UUID]) -> str:
    """Encode many ids as one parameter for `json_each`: SQLite limits the number of parameters."""
    return json.dumps([str(id) for id in ids])


def inside(owner: str, scope: Scope) -> tuple[str, Parameters]:
    """Return the condition on `memories m` that limits a statement to an owner and a scope."""
    conditions = ["m.owner = :owner"]
    if not scope.forgotten:
        conditions.append("m.deleted_at IS NULL")
    parameters: Parameters = {"owner": owner}

    def require(condition: str, name: str, value: object) -> None:
        conditions.append(condition)
        parameters[name] = value

    if scope.with_global:
        # Without a project the comparison is with NULL, and never true.
        require("(m.project = :project OR m.project IS NULL)", "project", scope.project)
    elif scope.project is not None:
        require("m.project = :project", "project", scope.project)
    if scope.sessions:
        require(_ANY_SESSION, "sessions", _text_list(scope.sessions))
    if scope.categories:
        require(_ANY_CATEGORY, "categories", _text_list(scope.categories))
    if scope.tags:
        require(_ALL_TAGS, "tags", _text_list(scope.tags))
    for condition, name, at in (
        ("m.created_at >= :since", "since", scope.since),
        ("m.created_at < :until", "until", scope.until),
        (_VALID, "valid_at", scope.valid_at),
    ):
        if at is not None:
            require(condition, name, microseconds(at))
    return " AND ".join(conditions), parameters


def former_names(connection: sqlite3.Connection, owner: str) -> dict[str, str]:
    return dict(map(tuple, connection.execute(_FORMER, (owner,)).fetchall()))


def projects(reader: sqlite3.Connection, owner: str) -> list[str]:
    """Return an owner's projects in order, with one index lookup each."""
    return [name for (name,) in reader.execute(_PROJECTS, {"owner": owner})]


def get_many(
    reader: sqlite3.Connection, owner: str, ids: Iterable[UUID], *, forgotten: bool = False
) -> dict[UUID, Memory]:
    rows = reader.execute(_GET_MANY, (owner, forgotten, id_list(ids))).fetchall()
    return {memory.id: memory for memory in map(from_row, rows)}


def read_settings(reader: sqlite3.Connection) -> dict[str, object]:
    rows = reader.execute("SELECT name, value FROM settings").fetchall()
    return {name: json.loads(value) for name, value in rows}


def unsent_ids(reader: sqlite3.Connection, owner: str) -> set[UUID]:
    """Return the memories whose current text the server does not have."""
    return {UUID(id) for (id,) in reader.execute(_UNSENT, {"owner": owner}).fetchall()}


def _text_list(texts: Iterable[str]) -> str:
    return json.dumps(list(texts), ensure_ascii=False)


_READERS: Final[Converters] = {
    "id": UUID,
    "texts": lambda value: tuple(json.loads(value)),
    "flag": bool,
    "moment": moment,
    "links": lambda value: from_values(json.loads(value)),
}
_WRITERS: Final[Converters] = {
    "id": str,
    "texts": _text_list,
    "number": float,
    "moment": microseconds,
    "links": lambda links: json.dumps(as_values(links)),
}
