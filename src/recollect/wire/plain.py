"""Values as a client sends them: plain JSON values, written without pydantic."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

# Which of our clients sends a request. The history says so, and some of them a person types in
# (core/memory/standing.py).
CLIENT_HEADER: Final = "recollect-client"


def to_plain(value: Any) -> Any:  # noqa: ANN401  # any value, as JSON has it
    """Convert a value to JSON values. Fields of an object that have their default are left out: an
    older server may not know them.
    """
    if dataclasses.is_dataclass(value):
        fields = {
            field.name: (field, getattr(value, field.name)) for field in dataclasses.fields(value)
        }
        return {name: to_plain(of) for name, (field, of) in fields.items() if of != _default(field)}
    if isinstance(value, Mapping):
        return {name: to_plain(of) for name, of in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_plain(each) for each in value]
    if isinstance(value, frozenset):
        return sorted(to_plain(each) for each in value)
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def _default(field: dataclasses.Field[Any]) -> object:
    return (
        field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
    )
