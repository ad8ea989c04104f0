"""Memories as lines of text: what `export` writes and `import` reads again, byte for byte.

One JSON object per line, the first of which identifies the file. A line holds everything about a
memory except its owner, who is the one that imports it. Nothing in it depends on when or where it
was written, so the same memories always give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.memory.ids import check_uuid7, short
from recollect.core.memory.links import Link, as_values
from recollect.core.memory.memory import Memory
from recollect.core.sync.model import State

FORMAT: Final = "recollect-export"
VERSION: Final = 1
HEADER: Final = json.dumps({"format": FORMAT, "version": VERSION}, separators=(",", ":"))
_MAX_VERSIONS: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The outcome of importing one memory. same: it was already here; kept: another version of it
    is here, and stays; refused: it cannot be stored, with the reason.
    """

    id: UUID
    outcome: Literal["new", "same", "kept", "refused"]
    reason: str = ""
    remedy: str = ""


def import_result(memory: Memory, current: Memory) -> ImportResult:
    """The outcome for a memory whose id is taken by `current`."""
    is_same = State(memory).fields == State(current).fields
    return ImportResult(memory.id, "same" if is_same else "kept")


def to_line(memory: Memory) -> str:
    """The memory as one line, without the line end."""
    values: dict[str, object] = {
        "id": str(memory.id),
        "content": memory.content,
        "category": memory.category,
        "tags": [*memory.tags],
        "expanded_keywords": [*memory.expanded_keywords],
        "importance": float(memory.importance),
        "is_sensitive": memory.is_sensitive,
        "project": memory.project,
        "session": memory.session,
        "version": memory.version,
        "created_at": _iso(memory.created_at),
        "updated_at": _iso(memory.updated_at),
        "deleted_at": None if memory.deleted_at is None else _iso(memory.deleted_at),
        "links": as_values(memory.links),
        "valid_from": None if memory.valid_from is None else _iso(memory.valid_from),
        "valid_until": None if memory.valid_until is None else _iso(memory.valid_until),
    }
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def check_header(values: Mapping[str, Any]) -> None:
    """InvalidInput unless this is the first line of a file that this version can read."""
    if values.get("format") != FORMAT:
        raise InvalidInput(
            "the first line is not the header of an export",
            field="format",
            remedy="Use a file that `recollect export` wrote, starting with its first line.",
        )
    if values.get("version") != VERSION:
        raise InvalidInput(
            f"the export has version {values.get('version')!r:.20}, this Recollect reads "
            f"version {VERSION}",
            field="version",
            remedy="Upgrade Recollect, or export again with this version.",
        )


def from_values(values: Mapping[str, Any], owner: str) -> Memory:
    """The memory that `to_line` wrote; InvalidInput names what is missing, unknown or wrong."""
    if unknown := values.keys() - _READERS.keys():
        raise _wrong(min(unknown), "is not a field of a memory")
    read: dict[str, Any] = {}
    for name, reader in _READERS.items():
        if name not in values:
            raise _wrong(name, "is missing")
        try:
            read[name] = reader(values[name])
        except (ValueError, TypeError, OverflowError) as error:
            raise _wrong(name, "has an invalid value") from error
    memory = Memory(owner=owner, **read)
    check_uuid7(memory.id)
    return memory


def to_markdown(memory: Memory) -> str:
    """The memory for people, as one list item."""
    about = [memory.category, f"importance {memory.importance:g}"]
    about += [f"project {memory.project}"] if memory.project else []
    about += [f"session {memory.session}"] if memory.session else []
    about += [f"tags {', '.join(memory.tags)}"] if memory.tags else []
    about += ["sensitive"] if memory.is_sensitive else []
    about += ["forgotten"] if memory.deleted_at else []
    about += [f"valid from {_minute(memory.valid_from)}"] if memory.valid_from else []
    about += [f"valid until {_minute(memory.valid_until)}"] if memory.valid_until else []
    about += [f"{link.kind.replace('_', ' ')} `{short(link.target)}`" for link in memory.links]
    text = "\n  ".join(memory.content.splitlines())
    head = f"{_minute(memory.created_at)} `{short(memory.id)}`"
    return f"- {text}\n  <small>{head} · {' · '.join(about)}</small>\n"


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _wrong(name: str, what: str) -> InvalidInput:
    return InvalidInput(
        f"{name[:60]!r} {what}",
        field=name[:60],
        remedy="Fix the line, or export again; `docs/moving.md` lists every field.",
    )


def _exactly(kind: type, *, or_none: bool = False) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:  # noqa: ANN401  # a JSON value
        if type(value) is kind or (or_none and value is None):
            return value
        raise ValueError(value)

    return read


def _texts(value: Any) -> tuple[str, ...]:  # noqa: ANN401  # a JSON value
    if type(value) is not list or any(type(text) is not str for text in value):
        raise ValueError(value)
    return tuple(value)


def _number(value: Any) -> float:  # noqa: ANN401  # a JSON value
    if type(value) not in (int, float):
        raise ValueError(value)
    return float(value)


def _count(value: Any) -> int:  # noqa: ANN401  # a JSON value
    if type(value) is not int or not 1 <= value <= _MAX_VERSIONS:
        raise ValueError(value)
    return value


def _moment(value: Any) -> datetime:  # noqa: ANN401  # a JSON value
    moment = datetime.fromisoformat(_exactly(str)(value))
    if moment.tzinfo is None:
        raise ValueError(value)
    return moment.astimezone(UTC)


def _moment_or_none(value: Any) -> datetime | None:  # noqa: ANN401  # a JSON value
    return None if value is None else _moment(value)


def _links(value: Any) -> tuple[Link, ...]:  # noqa: ANN401  # a JSON value
    if type(value) is not list:
        raise ValueError(value)
    return tuple(map(_link, value))


def _link(value: Any) -> Link:  # noqa: ANN401  # a JSON value
    if type(value) is not dict or value.keys() != {"kind", "target"}:
        raise ValueError(value)
    text = _exactly(str)
    return Link(text(value["kind"]), UUID(text(value["target"])))


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "id": lambda value: UUID(_exactly(str)(value)),
    "content": _exactly(str),
    "category": _exactly(str),
    "tags": _texts,
    "expanded_keywords": _texts,
    "importance": _number,
    "is_sensitive": _exactly(bool),
    "project": _exactly(str, or_none=True),
    "session": _exactly(str, or_none=True),
    "version": _count,
    "created_at": _moment,
    "updated_at": _moment,
    "deleted_at": _moment_or_none,
    "links": _links,
    "valid_from": _moment_or_none,
    "valid_until": _moment_or_none,
}
