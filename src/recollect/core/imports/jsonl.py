"""Memories as lines of text: what `export` writes and `import` reads again, byte for byte.

One JSON object per line, the first of which identifies the file. A line contains everything about a
memory except its owner, who is whoever imports it. Nothing depends on when or where the file was
written, so the same memories always give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.memory.fields import WRITERS, Converters
from recollect.core.memory.ids import check_uuid7, short
from recollect.core.memory.memory import ADDED_LATER, STORED, Memory
from recollect.core.sync.model import State

FORMAT: Final = "recollect-export"
VERSION: Final = 1
HEADER: Final = json.dumps({"format": FORMAT, "version": VERSION}, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The outcome of importing one memory. same: it was already here; kept: the store has another
    version of it, which stays; refused: it cannot be stored, with the reason.
    """

    id: UUID
    outcome: Literal["new", "same", "kept", "refused"]
    reason: str = ""
    remedy: str = ""


def import_result(memory: Memory, current: Memory) -> ImportResult:
    """Return the outcome for a memory whose id is taken by `current`."""
    is_same = State(memory).fields == State(current).fields
    return ImportResult(memory.id, "same" if is_same else "kept")


def to_line(memory: Memory) -> str:
    """Return the memory as one line, without the line end."""
    values = {
        name: field.convert(getattr(memory, name), _WRITERS) for name, field in _FIELDS.items()
    }
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def check_header(values: Mapping[str, Any]) -> None:
    """Raise InvalidInput unless this is the first line of a file that this version can read."""
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
    """Read the memory that `to_line` wrote; InvalidInput names what is missing, unknown or
    wrong.
    """
    if unknown := values.keys() - _FIELDS.keys():
        raise _invalid_field(min(unknown), "is not a field of a memory")
    read: dict[str, Any] = {}
    for name, field in _FIELDS.items():
        if name not in values and name in ADDED_LATER:
            continue
        if name not in values:
            raise _invalid_field(name, "is missing")
        try:
            read[name] = field.from_json(values[name])
        except (ValueError, TypeError, OverflowError, KeyError) as error:
            raise _invalid_field(name, "has an invalid value") from error
        if field.kind == "links" and any(link.keys() != _LINK for link in values[name]):
            raise _invalid_field(name, "has an invalid value")
    memory = Memory(owner=owner, **read)
    check_uuid7(memory.id)
    return memory


def to_markdown(memory: Memory) -> str:
    """Format the memory for people, as one list item."""
    about = [memory.category, f"importance {memory.importance:g}"]
    about += [f"project {memory.project}"] if memory.project else []
    about += [f"session {memory.session}"] if memory.session else []
    about += [f"tags {', '.join(memory.tags)}"] if memory.tags else []
    about += ["sensitive"] if memory.is_sensitive else []
    about += ["forgotten"] if memory.deleted_at else []
    about += [f"valid from {_format_minute(memory.valid_from)}"] if memory.valid_from else []
    about += [f"valid until {_format_minute(memory.valid_until)}"] if memory.valid_until else []
    about += [f"{link.kind.replace('_', ' ')} `{short(link.target)}`" for link in memory.links]
    text = "\n  ".join(memory.content.splitlines())
    head = f"{_format_minute(memory.created_at)} `{short(memory.id)}`"
    return f"- {text}\n  <small>{head} · {' · '.join(about)}</small>\n"


def _format_minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _invalid_field(name: str, what: str) -> InvalidInput:
    return InvalidInput(
        f"{name[:60]!r} {what}",
        field=name[:60],
        remedy="Fix the line, or export again; `docs/moving.md` lists every field.",
    )


_LINK: Final = {"kind", "target"}
_FIELDS: Final = {field.name: field for field in STORED if field.is_exported}
_WRITERS: Final[Converters] = {**WRITERS, "number": float, "moment": _iso}
