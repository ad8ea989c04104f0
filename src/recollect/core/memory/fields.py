"""The fields of a memory as data, read from the class `Memory`.

`Memory` is the table of fields: their order, types and defaults. The columns of both stores, sync,
exports and the shapes on the wire are derived from it, so a new field is one more line there, and
one in each place that decides something about it (`tests/e2e/test_new_field.py` lists them).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal
from uuid import UUID

from recollect.core.memory.links import Link, as_values, from_values

Kind = Literal["id", "text", "texts", "number", "count", "flag", "moment", "links"]
_KINDS: Final[Mapping[str, Kind]] = {
    "UUID": "id",
    "str": "text",
    "tuple[str, ...]": "texts",
    "float": "number",
    "int": "count",
    "bool": "flag",
    "datetime": "moment",
    "tuple[Link, ...]": "links",
}
Converters = Mapping[Kind, Callable[[Any], Any]]
_OR_NONE: Final = " | None"
_MAX_COUNT: Final = 2**31 - 1

# The metadata of fields that differ from most.
NOT_STORED: Final = {"is_stored": False}
NOT_EXPORTED: Final = {"is_exported": False}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a memory. What is not stored is neither versioned, synced nor exported."""

    name: str
    kind: Kind
    is_optional: bool
    default: Any
    is_stored: bool = True
    is_exported: bool = True

    def convert(self, value: Any, converters: Converters) -> Any:  # noqa: ANN401  # of its kind
        """Convert the value to another form. A kind without a converter is the same in both."""
        convert = converters.get(self.kind)
        return value if value is None or convert is None else convert(value)

    def to_json(self, value: Any) -> Any:  # noqa: ANN401  # of its kind
        return self.convert(value, WRITERS)

    def from_json(self, value: Any) -> Any:  # noqa: ANN401  # a JSON value
        """Return the field's value; ValueError, TypeError, KeyError or OverflowError for JSON of
        another kind.
        """
        return None if value is None and self.is_optional else READERS[self.kind](value)


def fields_of(table: type) -> tuple[Field, ...]:
    """Return the fields of a dataclass, in order."""
    return tuple(
        Field(
            field.name,
            _KINDS[str(field.type).removesuffix(_OR_NONE)],
            str(field.type).endswith(_OR_NONE),
            None if field.default is dataclasses.MISSING else field.default,
            **field.metadata,
        )
        for field in dataclasses.fields(table)
    )


def _exactly(*types: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:  # noqa: ANN401  # a JSON value
        if type(value) not in types:
            raise ValueError(value)
        return value

    return read


_text: Final = _exactly(str)


def _texts(value: Any) -> tuple[str, ...]:  # noqa: ANN401  # a JSON value
    return tuple(map(_text, _exactly(list)(value)))


def _count(value: Any) -> int:  # noqa: ANN401  # a JSON value
    if type(value) is not int or not 1 <= value <= _MAX_COUNT:
        raise ValueError(value)
    return value


def _moment(value: Any) -> datetime:  # noqa: ANN401  # a JSON value
    moment = datetime.fromisoformat(_text(value))
    if moment.tzinfo is None:
        raise ValueError(value)
    return moment.astimezone(UTC)


def _links(value: Any) -> tuple[Link, ...]:  # noqa: ANN401  # a JSON value
    links = _exactly(list)(value)
    return from_values({name: _text(link[name]) for name in ("kind", "target")} for link in links)


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()


WRITERS: Final[Converters] = {
    "id": str,
    "texts": list,
    "moment": iso,
    "links": as_values,
}
READERS: Final[Converters] = {
    "id": lambda value: UUID(_text(value)),
    "text": _text,
    "texts": _texts,
    "number": lambda value: float(_exactly(int, float)(value)),
    "count": _count,
    "flag": _exactly(bool),
    "moment": _moment,
    "links": _links,
}
