"""Inputs: drafts, changes, scopes.

The `from_…` constructors skip pydantic's checks on purpose: what they build is sent to a server,
which rejects it with the messages of `core`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Final, cast

from pydantic import ConfigDict, Strict
from pydantic import Field as ShapeField
from pydantic.json_schema import SkipJsonSchema

from recollect.core.memory.fields import Field, fields_of
from recollect.core.memory.links import Link
from recollect.core.memory.memory import EPISODE, FIELDS, Changes, Draft, Scope
from recollect.core.memory.paging import MAX_PAGE
from recollect.wire.fields import INPUTS, WORDS, or_default, or_unset, shape_of, values_of
from recollect.wire.values import (
    NOT_BLANK,
    PROJECT,
    WITH_GLOBAL,
    Category,
    Input,
    LinkIn,
    Moment,
    Name,
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
_OF_A_DRAFT: Final = {
    **WORDS,
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


_DraftIn: Any = shape_of(Input, _DRAFT, INPUTS, _draft_default, _OF_A_DRAFT)


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

    @classmethod
    def from_draft(cls, draft: Draft) -> DraftIn:
        # Unset values are left out: servers of earlier versions may not know their names.
        values = {field.name: _sent(getattr(draft, field.name)) for field in _DRAFT}
        given = {name: value for name, value in values.items() if value not in (None, [])}
        return cls.model_construct(**given)

    def to_draft(self) -> Draft:
        return Draft(**values_of(self, _DRAFT))


_CHANGES: Final = tuple(FIELDS[name] for name in Changes.__annotations__)
_OF_A_CHANGE: Final = {**WORDS, "links": "All links of the memory from now on."}


_ChangesIn: Any = shape_of(Input, _CHANGES, INPUTS, or_unset, _OF_A_CHANGE)


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

    @classmethod
    def from_changes(cls, changes: Changes, based_on: int | None) -> ChangesIn:
        named = {name: _sent(value) for name, value in changes.items()}
        return cls.model_construct(**named, based_on=based_on)

    def to_changes(self) -> Changes:
        given = (field for field in _CHANGES if field.name in self.model_fields_set)
        return cast("Changes", values_of(self, given))


def _sent(value: Any) -> Any:  # noqa: ANN401  # of any kind
    """As JSON has it: lists, and links as shapes."""
    if isinstance(value, tuple):
        return [LinkIn.from_link(item) if isinstance(item, Link) else item for item in value]
    return value


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

    @classmethod
    def from_scope(cls, scope: Scope) -> ScopeIn:
        # Unset values are left out: servers of earlier versions do not know them.
        newer: dict[str, Any] = {"with_global": True} if scope.with_global else {}
        return cls.model_construct(
            project=scope.project,
            sessions=[*scope.sessions],
            categories=[*scope.categories],
            tags=[*scope.tags],
            since=scope.since,
            until=scope.until,
            **newer,
        )

    def to_scope(self) -> Scope:
        return Scope(
            project=self.project,
            sessions=tuple(self.sessions),
            categories=tuple(self.categories),
            tags=tuple(self.tags),
            since=self.since,
            until=self.until,
            with_global=self.with_global,
        )


class ListIn(ScopeIn):
    """A page of a listing, as query parameters: a value is given or not, never null."""

    project: Name | SkipJsonSchema[None] = ShapeField(default=None, description=PROJECT)
    since: Moment | SkipJsonSchema[None] = None
    until: Moment | SkipJsonSchema[None] = None
    with_global: Annotated[bool, Strict(strict=False)] = ShapeField(
        default=False, description=WITH_GLOBAL
    )
    forgotten: Annotated[bool, Strict(strict=False)] = ShapeField(
        default=False, description="Include forgotten memories."
    )
    cursor: str | SkipJsonSchema[None] = ShapeField(
        default=None,
        description="`next_cursor` of the previous page.",
        json_schema_extra={"format": "cursor"},
    )
    limit: Annotated[int, Strict(strict=False)] = ShapeField(
        default=DEFAULT_PAGE, json_schema_extra={"minimum": 1, "maximum": MAX_PAGE}
    )

    def to_scope(self) -> Scope:
        return replace(super().to_scope(), forgotten=self.forgotten)
