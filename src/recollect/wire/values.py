"""The values that shapes consist of.

The limits in the schemas document the rules of `core`; they are not checked here, so that every
entry point rejects a value with the same message.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    WithJsonSchema,
)

from recollect.core.memory.links import KINDS, MAX_LINKS
from recollect.core.memory.memory import CATEGORIES, Limits
from recollect.core.recall.request import MAX_WEIGHT
from recollect.core.text.analysis import repair_text

_LIMITS = Limits()
# What Python strips, even if a reader of the schema does not count it as space.
NOT_BLANK = r"^[^\x00]*[^\x00\s\x1c-\x1f\x85][^\x00]*$"
_NO_NUL = r"^[^\x00]*$"
REFERENCE = "^(-*[0-9a-fA-F]){4,32}-*$"
"""An id, or the end or the beginning of one."""
PROJECT = (
    "A project's name, or the end of it: `shop` means `github.com/ada/shop` if no other "
    "project has that name."
)
WITH_GLOBAL = "Include memories without a project; if no project is named, only those."
_DATE = re.compile(r"\d{4}-\d\d-\d\d[Tt ]")


def _require_date_text(value: object) -> object:
    """Reject numbers, which pydantic would read as seconds since 1970 and the schema does not
    allow.
    """
    if isinstance(value, datetime) or (isinstance(value, str) and _DATE.match(value)):
        return value
    raise ValueError("should be a date and time with a time zone, such as 2026-01-31T09:30:00Z")


def _to_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("is out of range for a date") from error


def _to_whole(value: object) -> object:
    """Convert 47.0 to 47: in JSON, both are the same number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _repair(value: object) -> object:
    return repair_text(value) if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_repair)]
"""Any text: JSON may contain halves of surrogate pairs."""

Whole = Annotated[int, BeforeValidator(_to_whole)]
QueryBool = Annotated[bool, Strict(strict=False)]
QueryInt = Annotated[int, Strict(strict=False)]
Moment = Annotated[
    AwareDatetime,
    Strict(strict=False),
    BeforeValidator(_require_date_text),
    AfterValidator(_to_utc),
]
Id = Annotated[UUID, Strict(strict=False)]
NewId = Annotated[
    Id,
    WithJsonSchema(
        {
            "type": "string",
            "format": "uuid",
            "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
        }
    ),
]
Category = Annotated[str, Field(json_schema_extra={"enum": [*CATEGORIES]})]
Content = Annotated[
    Text,
    Field(
        description="One self-contained statement.",
        json_schema_extra={
            "minLength": 1,
            "maxLength": _LIMITS.content,
            "pattern": NOT_BLANK,
        },
    ),
]
Word = Annotated[Text, Field(json_schema_extra={"maxLength": _LIMITS.word, "pattern": _NO_NUL})]
Words = Annotated[list[Word], Field(json_schema_extra={"maxItems": _LIMITS.words})]
Label = Annotated[Text, Field(json_schema_extra={"maxLength": _LIMITS.label, "pattern": _NO_NUL})]
Name = Annotated[Text, Field(json_schema_extra={"pattern": NOT_BLANK})]
Importance = Annotated[
    float,
    Field(
        description="Importance, from 0 (trivial) to 1 (vital).",
        json_schema_extra={"minimum": 0, "maximum": 1},
    ),
]
Weight = Annotated[float, Field(json_schema_extra={"minimum": 0, "maximum": MAX_WEIGHT})]


class Shape(BaseModel):
    """An outgoing object. Readers skip unknown fields: the writer may be newer."""

    # Values are read by attribute, where a field of JSON may have a path; JSON is read by name.
    model_config = ConfigDict(frozen=True, from_attributes=True, validate_by_name=True)


class Input(BaseModel):
    """An incoming object. Misspelt fields are rejected, and types are not converted."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class LinkIn(Input):
    """A link to another memory, by its full id. The target need not exist yet."""

    kind: str = Field(
        description="supersedes: returned in the target's place; resolved_by: the target is "
        "attached when this one is recalled; part_of, see_also: the target is listed.",
        json_schema_extra={"enum": [*KINDS]},
    )
    target: Id = Field(description="The full id of the other memory.")


Links = Annotated[list[LinkIn], Field(json_schema_extra={"maxItems": MAX_LINKS})]
