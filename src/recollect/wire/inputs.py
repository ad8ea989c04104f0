"""Inputs about memories: drafts, changes, scopes, and the parameters of pages and tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Literal, cast

from pydantic import ConfigDict, ValidationError
from pydantic import Field as ShapeField
from pydantic.json_schema import SkipJsonSchema

from recollect.core.errors import InvalidInput
from recollect.core.memory.batch import MAX_BATCH, BatchItem
from recollect.core.memory.fields import Field, fields_of
from recollect.core.memory.listing import MAX_OFFSET, MAX_PAGE, MAX_WORDS, Listing, Order, SortBy
from recollect.core.memory.memory import EPISODE, FIELDS, Changes, Draft, Scope
from recollect.wire.codec import build, read_set
from recollect.wire.fields import DESCRIPTIONS, INPUTS, or_default, or_unset, shape_of
from recollect.wire.problems import refusal
from recollect.wire.values import (
    NOT_BLANK,
    PROJECT,
    WITH_GLOBAL,
    Category,
    Id,
    Input,
    Moment,
    Name,
    QueryBool,
    QueryInt,
    Whole,
)

DEFAULT_PAGE = 50
_EPISODES_HAVE_A_SESSION: dict[str, Any] = {
    "if": {"properties": {"category": {"const": EPISODE}}, "required": ["category"]},
    "then": {
        "properties": {"session": {"type": "string", "pattern": NOT_BLANK}},
        "required": ["session"],
    },
}


_DRAFT: Final = fields_of(Draft)
_DRAFT_DESCRIPTIONS: Final = {
    **DESCRIPTIONS,
    "tags": "Labels for filtering.",
    "expanded_keywords": "Extra words to find the memory by.",
    "is_sensitive": "Never embedded, extracted from, or sent to another machine. If unset, a text "
    "that looks like a credential makes it sensitive; false overrides that.",
    "project": PROJECT,
    "id": "A UUIDv7 created by the writer.",
    "said_at": "When it was said, if it was found in an earlier conversation. It is not stored if "
    "the same text was erased, forgotten or replaced since.",
}


def _draft_default(field: Field) -> dict[str, Any]:
    return {} if field.name == "content" else or_default(field)


_DraftIn: Any = shape_of(Input, _DRAFT, INPUTS, _draft_default, _DRAFT_DESCRIPTIONS)


class DraftIn(_DraftIn, Input):  # type: ignore[misc]  # derived
    """A new memory. With your own id, repeating the request is safe."""

    model_config = ConfigDict(
        json_schema_extra={
            **_EPISODES_HAVE_A_SESSION,
            "examples": [
                {
                    "content": "The staging database is read-only on Fridays.",
                    "category": "fact",
                    "tags": ["staging", "database"],
                    "expanded_keywords": ["postgres", "maintenance window"],
                    "importance": 0.7,
                    "project": "shop",
                }
            ],
        }
    )

    def to_draft(self) -> Draft:
        return build(Draft, self)


_CHANGES: Final = tuple(FIELDS[name] for name in Changes.__annotations__)
_CHANGE_DESCRIPTIONS: Final = {**DESCRIPTIONS, "links": "All links of the memory from now on."}


_ChangesIn: Any = shape_of(Input, _CHANGES, INPUTS, or_unset, _CHANGE_DESCRIPTIONS)


class ChangesIn(_ChangesIn, Input):  # type: ignore[misc]  # derived
    """The fields to change; other fields stay as they are. With `based_on`, the change is applied
    only if that version is still current. A new text that looks like a credential makes the memory
    sensitive, unless `is_sensitive` is given.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": [name]} for name in Changes.__annotations__],
            "examples": [{"importance": 0.9, "tags": ["staging"], "based_on": 1}],
        }
    )

    based_on: Whole | None = ShapeField(
        default=None, description="The version that the change is based on."
    )

    def to_changes(self) -> Changes:
        return cast("Changes", read_set(Changes, self))


class ScopeIn(Input):
    """Which memories to search. Sessions and categories: any of those named; tags: all of them;
    time: `since` is inclusive, `until` exclusive.
    """

    project: Name | None = ShapeField(default=None, description=PROJECT)
    sessions: list[Name] = ShapeField(default=[])
    categories: list[Category] = ShapeField(default=[])
    tags: list[Name] = ShapeField(default=[])
    since: Moment | None = None
    until: Moment | None = None
    with_global: bool = ShapeField(default=False, description=WITH_GLOBAL)

    def to_scope(self) -> Scope:
        return build(Scope, self)


class QueryScopeIn(ScopeIn):
    """A scope as query parameters: a value is given or not, never null."""

    project: Name | SkipJsonSchema[None] = ShapeField(default=None, description=PROJECT)
    since: Moment | SkipJsonSchema[None] = None
    until: Moment | SkipJsonSchema[None] = None
    with_global: QueryBool = ShapeField(default=False, description=WITH_GLOBAL)


class ListIn(QueryScopeIn):
    """A page of a listing."""

    forgotten: QueryBool = ShapeField(default=False, description="Include forgotten memories.")
    cursor: str | SkipJsonSchema[None] = ShapeField(
        default=None,
        description="`next_cursor` of the previous page, or the id of its last memory.",
        json_schema_extra={"format": "cursor"},
    )
    limit: QueryInt = ShapeField(
        default=DEFAULT_PAGE, json_schema_extra={"minimum": 1, "maximum": MAX_PAGE}
    )


class TableIn(QueryScopeIn):
    """The rows of a table."""

    words: list[Name] = ShapeField(
        default=[],
        description="Only texts that contain each of these, in any case.",
        json_schema_extra={"maxItems": MAX_WORDS},
    )
    is_sensitive: QueryBool | SkipJsonSchema[None] = ShapeField(
        default=None, description="Only sensitive memories, or only others."
    )
    expires_after: Moment | SkipJsonSchema[None] = ShapeField(
        default=None, description="Only memories that expire later than this."
    )
    expires_by: Moment | SkipJsonSchema[None] = ShapeField(
        default=None, description="Only memories that expire by then."
    )
    state: Literal["current", "forgotten", "all"] = "current"
    sort_by: SortBy = "created"
    order: Order = "desc"
    offset: QueryInt = ShapeField(
        default=0, json_schema_extra={"minimum": 0, "maximum": MAX_OFFSET}
    )
    limit: QueryInt = ShapeField(
        default=DEFAULT_PAGE, json_schema_extra={"minimum": 1, "maximum": MAX_PAGE}
    )

    def to_listing(self) -> Listing:
        scope = replace(self.to_scope(), forgotten=self.state != "current")
        return build(Listing, self, scope=scope, only_forgotten=self.state == "forgotten")


def read_draft(values: object) -> Draft:
    """Read a draft; or InvalidInput."""
    try:
        return DraftIn.model_validate(values).to_draft()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise refusal(first, first["loc"] or ("memory",)) from error


def read_item(values: object) -> BatchItem:
    """Read a draft, or the reason why it is invalid."""
    try:
        return read_draft(values)
    except InvalidInput as error:
        return error


class BatchIn(Input):
    """Memories to store together. Each is checked separately: an invalid one is refused, and the
    others are stored.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "memories": [
                        {"content": "Nadia prefers small pull requests.", "category": "preference"},
                        {"content": "Releases go out on Tuesdays.", "tags": ["release"]},
                    ]
                }
            ]
        }
    )

    memories: list[dict[str, Any]] = ShapeField(
        description="In the order they were said. With your own ids, repeating the request is "
        "safe.",
        json_schema_extra={"maxItems": MAX_BATCH},
    )

    def to_batch(self) -> list[BatchItem]:
        return [read_item(memory) for memory in self.memories]


class ExportIn(Input):
    """Which memories to export."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"ids": ["019cc2a7-4b59-7d3a-9a55-2f0e6b7c8d9e"]}]}
    )

    ids: list[Id] = ShapeField(json_schema_extra={"maxItems": MAX_PAGE})
    sensitive: bool = ShapeField(default=False, description="Include sensitive memories.")


class InjectIn(Input):
    """A prompt, as an agent's hook would see it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"prompt": "When can I deploy?"}]})

    prompt: str
    project: Name | None = ShapeField(default=None, description=PROJECT)
