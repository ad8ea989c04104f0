"""Shapes with a memory's fields, derived from the table of fields (`core/memory/fields.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel, create_model
from pydantic import Field as ShapeField

from recollect.core.memory.fields import Converters, Field
from recollect.core.memory.links import Link
from recollect.core.memory.memory import FIELDS
from recollect.wire.values import (
    Category,
    Content,
    Importance,
    Label,
    LinkIn,
    LinkOut,
    Links,
    Moment,
    NewId,
    Words,
)

Default = Callable[[Field], dict[str, Any]]

# The type of a field, by its kind, or by its name if it has rules of its own.
Types = Mapping[str, Any]
OUTPUTS: Final[Types] = {
    "id": UUID,
    "text": str,
    "texts": list[str],
    "number": float,
    "count": int,
    "flag": bool,
    "moment": Moment,
    "links": list[LinkOut],
}
PUSHED: Final[Types] = {**OUTPUTS, "links": list[LinkIn]}
INPUTS: Final[Types] = {
    **OUTPUTS,
    "id": NewId,
    "text": Label,
    "texts": Words,
    "links": Links,
    "content": Content,
    "category": Category,
    "importance": Importance,
}
# What a shape says about a field, unless it has other words.
WORDS: Final = {
    "links": "Links to other memories.",
    "valid_from": "Recalled from then on.",
    "valid_until": "Recalled until then.",
}
# What was added behind it, the first servers do not send.
_FIRST: Final = {*[*FIELDS][: [*FIELDS].index("deleted_at") + 1]}
_EMPTY: Final[Types] = {"text": str, "texts": list, "number": float, "flag": bool, "links": list}


def shape_of(
    base: type[BaseModel],
    fields: Iterable[Field],
    types: Types,
    default: Default,
    words: Mapping[str, str] | None = None,
) -> Any:  # noqa: ANN401  # a class that mypy cannot know
    """A shape with these fields, to inherit from."""
    shaped: dict[str, Any] = {}
    for field in fields:
        type_ = types.get(field.name, types[field.kind])
        about = default(field)
        if words and field.name in words:
            about["description"] = words[field.name]
        optional = type_ | None if field.is_optional else type_
        shaped[field.name] = (optional, ShapeField(**about))
    return create_model(base.__name__, __base__=base, **shaped)


def or_default(field: Field) -> dict[str, Any]:
    return {"default": field.to_json(field.default)}


def or_default_if_later(field: Field) -> dict[str, Any]:
    return {} if field.name in _FIRST else or_default(field)


def or_unset(field: Field) -> dict[str, Any]:
    """A factory sets a default that the schema does not show: without a value, it is unset."""
    return {"default": None} if field.is_optional else {"default_factory": _EMPTY[field.kind]}


def values_of(shape: BaseModel, fields: Iterable[Field]) -> dict[str, Any]:
    """The values of these fields as a memory has them."""
    return {field.name: field.convert(getattr(shape, field.name), _READERS) for field in fields}


_READERS: Final[Converters] = {
    "texts": tuple,
    "links": lambda links: tuple(sorted({Link(link.kind, link.target) for link in links})),
}
