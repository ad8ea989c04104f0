"""Inputs with a memory's fields, derived from the table of fields (`core/memory/fields.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel, create_model
from pydantic import Field as ShapeField

from recollect.core.memory.fields import Field
from recollect.wire.values import (
    Category,
    Content,
    Importance,
    Label,
    LinkIn,
    Links,
    Moment,
    NewId,
    Words,
)

Default = Callable[[Field], dict[str, Any]]

# The type of a field, by its kind, or by its name if it has rules of its own.
Types = Mapping[str, Any]
TYPES: Final[Types] = {
    "id": UUID,
    "text": str,
    "texts": list[str],
    "number": float,
    "count": int,
    "flag": bool,
    "moment": Moment,
    "links": list[LinkIn],
}
INPUTS: Final[Types] = {
    **TYPES,
    "id": NewId,
    "text": Label,
    "texts": Words,
    "links": Links,
    "content": Content,
    "category": Category,
    "importance": Importance,
}
# The description of a field, unless a shape has its own.
DESCRIPTIONS: Final[Mapping[str, str]] = {
    "links": "Links to other memories.",
    "valid_from": "Recalled from then on.",
    "valid_until": "Recalled until then.",
}
_EMPTY: Final[Types] = {"text": str, "texts": list, "number": float, "flag": bool, "links": list}


def shape_of(
    base: type[BaseModel],
    fields: Iterable[Field],
    types: Types,
    default: Default,
    descriptions: Mapping[str, str],
) -> Any:  # noqa: ANN401  # a class that mypy cannot know
    """Create a shape with these fields, to inherit from."""
    shaped: dict[str, Any] = {}
    for field in fields:
        type_ = types.get(field.name, types[field.kind])
        about = default(field)
        if field.name in descriptions:
            about["description"] = descriptions[field.name]
        optional = type_ | None if field.is_optional else type_
        shaped[field.name] = (optional, ShapeField(**about))
    return create_model(base.__name__, __base__=base, **shaped)


def or_default(field: Field) -> dict[str, Any]:
    return {"default": field.to_json(field.default)}


def or_unset(field: Field) -> dict[str, Any]:
    """Set a default that the schema does not show, by a factory: without a value, the field is
    unset.
    """
    return {"default": None} if field.is_optional else {"default_factory": _EMPTY[field.kind]}
