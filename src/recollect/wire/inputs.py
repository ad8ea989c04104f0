"""Inputs: drafts, changes, scopes.

The `from_…` constructors skip pydantic's checks on purpose: what they build is sent to a server,
which rejects it with the messages of `core`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, cast

from pydantic import ConfigDict, Field, Strict
from pydantic.json_schema import SkipJsonSchema

from recollect.core.memory.memory import (
    DEFAULT_CATEGORY,
    DEFAULT_IMPORTANCE,
    EPISODE,
    Changes,
    Draft,
    Scope,
)
from recollect.core.memory.paging import MAX_PAGE
from recollect.wire.values import (
    NOT_BLANK,
    PROJECT,
    VALID_FROM,
    VALID_UNTIL,
    WITH_GLOBAL,
    Category,
    Content,
    Importance,
    Input,
    Label,
    LinkIn,
    Links,
    Moment,
    Name,
    NewId,
    Whole,
    Words,
)

DEFAULT_PAGE = 50
_EPISODES_HAVE_A_SESSION: dict[str, Any] = {
    "if": {"properties": {"category": {"const": EPISODE}}, "required": ["category"]},
    "then": {
        "properties": {"session": {"type": "string", "pattern": NOT_BLANK}},
        "required": ["session"],
    },
}


class DraftIn(Input):
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

    content: Content
    category: Category = DEFAULT_CATEGORY
    tags: Words = Field(default=[], description="Labels for filtering.")
    expanded_keywords: Words = Field(default=[], description="Extra words to find the memory by.")
    importance: Importance = DEFAULT_IMPORTANCE
    is_sensitive: bool | None = Field(
        default=None,
        description="Never embedded, extracted from, or sent to another machine. If unset, a text "
        "that looks like a credential makes it sensitive; false overrides that.",
    )
    project: Label | None = Field(default=None, description=PROJECT)
    session: Label | None = None
    id: NewId | None = Field(default=None, description="A UUIDv7 created by the writer.")
    links: Links = Field(default=[], description="Links to other memories.")
    valid_from: Moment | None = Field(default=None, description=VALID_FROM)
    valid_until: Moment | None = Field(default=None, description=VALID_UNTIL)
    said_at: Moment | None = Field(
        default=None,
        description="When it was said, if it was found in an earlier conversation. It is not "
        "stored if the same text was erased, forgotten or replaced since.",
    )

    @classmethod
    def from_draft(cls, draft: Draft) -> DraftIn:
        # Unset values are left out: servers of earlier versions know no third value, and no links.
        said: dict[str, Any] = {}
        if draft.is_sensitive is not None:
            said["is_sensitive"] = draft.is_sensitive
        if draft.links:
            said["links"] = [LinkIn.from_link(link) for link in draft.links]
        for name in ("valid_from", "valid_until", "said_at"):
            if (moment := getattr(draft, name)) is not None:
                said[name] = moment
        return cls.model_construct(
            content=draft.content,
            category=draft.category,
            tags=[*draft.tags],
            expanded_keywords=[*draft.expanded_keywords],
            importance=draft.importance,
            project=draft.project,
            session=draft.session,
            id=draft.id,
            **said,
        )

    def to_draft(self) -> Draft:
        values = dict(self)
        values["tags"] = tuple(self.tags)
        values["expanded_keywords"] = tuple(self.expanded_keywords)
        values["links"] = tuple(link.to_link() for link in self.links)
        return Draft(**values)


class ChangesIn(Input):
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

    # A factory sets a default that the schema does not show: without a value, the field is unset.
    content: Content = Field(default_factory=str)
    category: Category = Field(default_factory=str)
    tags: Words = Field(default_factory=list)
    expanded_keywords: Words = Field(default_factory=list)
    importance: Importance = Field(default_factory=float)
    is_sensitive: bool = Field(default_factory=bool)
    project: Label | None = None
    session: Label | None = None
    links: Links = Field(default_factory=list, description="All links of the memory from now on.")
    valid_from: Moment | None = Field(default=None, description=VALID_FROM)
    valid_until: Moment | None = Field(default=None, description=VALID_UNTIL)
    based_on: Whole | None = Field(
        default=None, description="The version that the change is based on."
    )

    @classmethod
    def from_changes(cls, changes: Changes, based_on: int | None) -> ChangesIn:
        named: dict[str, Any] = {
            name: [*value] if isinstance(value, tuple) else value for name, value in changes.items()
        }
        if "links" in changes:
            named["links"] = [LinkIn.from_link(link) for link in changes["links"]]
        return cls.model_construct(**named, based_on=based_on)

    def to_changes(self) -> Changes:
        named: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in self
            if name in self.model_fields_set and name != "based_on"
        }
        if "links" in named:
            named["links"] = tuple(link.to_link() for link in self.links)
        return cast("Changes", named)


class ScopeIn(Input):
    """Which memories to search. Sessions and categories: any of those named; tags: all of them;
    time: `since` is inclusive, `until` exclusive.
    """

    project: Name | None = Field(default=None, description=PROJECT)
    sessions: list[Name] = Field(default=[])
    categories: list[Category] = Field(default=[])
    tags: list[Name] = Field(default=[])
    since: Moment | None = None
    until: Moment | None = None
    with_global: bool = Field(default=False, description=WITH_GLOBAL)

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

    project: Name | SkipJsonSchema[None] = Field(default=None, description=PROJECT)
    since: Moment | SkipJsonSchema[None] = None
    until: Moment | SkipJsonSchema[None] = None
    with_global: Annotated[bool, Strict(strict=False)] = Field(
        default=False, description=WITH_GLOBAL
    )
    forgotten: Annotated[bool, Strict(strict=False)] = Field(
        default=False, description="Include forgotten memories."
    )
    cursor: str | SkipJsonSchema[None] = Field(
        default=None,
        description="`next_cursor` of the previous page.",
        json_schema_extra={"format": "cursor"},
    )
    limit: Annotated[int, Strict(strict=False)] = Field(
        default=DEFAULT_PAGE, json_schema_extra={"minimum": 1, "maximum": MAX_PAGE}
    )

    def to_scope(self) -> Scope:
        return replace(super().to_scope(), forgotten=self.forgotten)
