"""What is taken in: drafts, changes, questions, settings.

The `from_…` makers skip pydantic's checks on purpose: what they build is sent to a server, and the
server refuses it in the words of `core`.
"""

from __future__ import annotations

from typing import Annotated, Any, cast

from pydantic import ConfigDict, Field, Strict
from pydantic.json_schema import SkipJsonSchema

from recollect.core.fusion import Fusion
from recollect.core.memory import (
    DEFAULT_CATEGORY,
    DEFAULT_IMPORTANCE,
    EPISODE,
    Changes,
    Draft,
    Scope,
)
from recollect.core.paging import MAX_PAGE
from recollect.core.recall import MAX_LIMIT, LegName, RecallRequest, SortBy
from recollect.core.recall_settings import LEGAL, LexicalRanking, Range
from recollect.core.text import MAX_QUERY_CHARS, clean_query
from recollect.wire.values import (
    NOT_BLANK,
    Category,
    Content,
    Id,
    Importance,
    Input,
    Label,
    Moment,
    Name,
    Weight,
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
    """A new memory. With an id of your own, repeating the request is harmless."""

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
    tags: Words = Field(default=[], description="What it is filed under.")
    expanded_keywords: Words = Field(default=[], description="Extra words to find it by.")
    importance: Importance = DEFAULT_IMPORTANCE
    is_sensitive: bool = Field(
        default=False, description="Never embedded, extracted from, or sent to another machine."
    )
    project: Label | None = None
    session: Label | None = None
    id: Id | None = Field(default=None, description="A UUIDv7 made by the writer.")

    @classmethod
    def from_draft(cls, draft: Draft) -> DraftIn:
        return cls.model_construct(
            content=draft.content,
            category=draft.category,
            tags=[*draft.tags],
            expanded_keywords=[*draft.expanded_keywords],
            importance=draft.importance,
            is_sensitive=draft.is_sensitive,
            project=draft.project,
            session=draft.session,
            id=draft.id,
        )

    def to_draft(self) -> Draft:
        values = dict(self)
        values["tags"] = tuple(self.tags)
        values["expanded_keywords"] = tuple(self.expanded_keywords)
        return Draft(**values)


class ChangesIn(Input):
    """The fields to change; a field that is not named stays as it is. With `based_on`, the change
    is made only if that version is still the current one.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": [name]} for name in Changes.__annotations__],
            "examples": [{"importance": 0.9, "tags": ["staging"], "based_on": 1}],
        }
    )

    # A factory gives a default that the schema does not show: there is none, a field is unnamed.
    content: Content = Field(default_factory=str)
    category: Category = Field(default_factory=str)
    tags: Words = Field(default_factory=list)
    expanded_keywords: Words = Field(default_factory=list)
    importance: Importance = Field(default_factory=float)
    is_sensitive: bool = Field(default_factory=bool)
    project: Label | None = None
    session: Label | None = None
    based_on: Whole | None = Field(
        default=None, description="The version the change was made from."
    )

    @classmethod
    def from_changes(cls, changes: Changes, based_on: int | None) -> ChangesIn:
        named: dict[str, Any] = {
            name: [*value] if isinstance(value, tuple) else value for name, value in changes.items()
        }
        return cls.model_construct(**named, based_on=based_on)

    def to_changes(self) -> Changes:
        named: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in self
            if name in self.model_fields_set and name != "based_on"
        }
        return cast("Changes", named)


class ScopeIn(Input):
    """Which memories take part. Sessions and categories: any of those named; tags: all of them;
    time: `since` is included, `until` is not.
    """

    project: Name | None = None
    sessions: list[Name] = Field(default=[])
    categories: list[Category] = Field(default=[])
    tags: list[Name] = Field(default=[])
    since: Moment | None = None
    until: Moment | None = None

    @classmethod
    def from_scope(cls, scope: Scope) -> ScopeIn:
        return cls.model_construct(
            project=scope.project,
            sessions=[*scope.sessions],
            categories=[*scope.categories],
            tags=[*scope.tags],
            since=scope.since,
            until=scope.until,
        )

    def to_scope(self) -> Scope:
        return Scope(
            project=self.project,
            sessions=tuple(self.sessions),
            categories=tuple(self.categories),
            tags=tuple(self.tags),
            since=self.since,
            until=self.until,
        )


class ListIn(ScopeIn):
    """A page of a listing, as query parameters: there, a value is given or not, never null."""

    project: Name | SkipJsonSchema[None] = None
    since: Moment | SkipJsonSchema[None] = None
    until: Moment | SkipJsonSchema[None] = None
    cursor: str | SkipJsonSchema[None] = Field(
        default=None,
        description="`next_cursor` of the previous page.",
        json_schema_extra={"format": "cursor"},
    )
    limit: Annotated[int, Strict(strict=False)] = Field(
        default=DEFAULT_PAGE, json_schema_extra={"minimum": 1, "maximum": MAX_PAGE}
    )


class RecallIn(Input):
    """A question to the memory."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "When can I write to staging?",
                    "limit": 5,
                    "scope": {"project": "shop"},
                    "weights": {"lexical": 1.0},
                    "explain": True,
                }
            ]
        }
    )

    query: str = Field(
        description=f"Any text; what is past {MAX_QUERY_CHARS:,} characters is not looked at."
    )
    expanded_query: str = Field(default="", description="Extra words for the lexical leg.")
    limit: Whole = Field(default=10, json_schema_extra={"minimum": 1, "maximum": MAX_LIMIT})
    sort_by: SortBy = "relevance"
    scope: ScopeIn = ScopeIn()
    exclude: list[Id] = Field(default=[], description="Memories that are already in the prompt.")
    weights: dict[LegName, Weight] = Field(
        default={}, description="Weights for this recall only; 0 means the leg is not run."
    )
    explain: bool = Field(default=True, description="Say of each hit why it is there.")

    @classmethod
    def from_request(cls, request: RecallRequest) -> RecallIn:
        return cls.model_construct(
            query=clean_query(request.query),
            expanded_query=clean_query(request.expanded_query),
            limit=request.limit,
            sort_by=request.sort_by,
            scope=ScopeIn.from_scope(request.scope),
            exclude=sorted(request.exclude),
            weights=dict(request.weights),
            explain=True,
        )

    def to_request(self) -> RecallRequest:
        return RecallRequest(
            query=self.query,
            expanded_query=self.expanded_query,
            limit=self.limit,
            sort_by=self.sort_by,
            scope=self.scope.to_scope(),
            exclude=frozenset(self.exclude),
            weights=self.weights,
        )


def _legal(name: str) -> dict[str, Any]:
    legal = LEGAL[name]
    if isinstance(legal, Range):
        return {"minimum": legal.low, "maximum": legal.high}
    return {"enum": [*legal.names]}


class SettingsIn(Input):
    """The settings to change; one that is not named stays as it is."""

    model_config = ConfigDict(
        json_schema_extra={
            "minProperties": 1,
            "examples": [{"lexical_weight": 1.0, "fusion": "convex"}],
        }
    )

    lexical_weight: float = Field(default_factory=float, json_schema_extra=_legal("lexical_weight"))
    dense_weight: float = Field(default_factory=float, json_schema_extra=_legal("dense_weight"))
    graph_weight: float = Field(default_factory=float, json_schema_extra=_legal("graph_weight"))
    fusion: Fusion = Field(default_factory=lambda: "rrf")
    rrf_k: Whole = Field(default_factory=int, json_schema_extra=_legal("rrf_k"))
    depth: Whole = Field(default_factory=int, json_schema_extra=_legal("depth"))
    deadline_ms: Whole = Field(default_factory=int, json_schema_extra=_legal("deadline_ms"))
    lexical_ranking: LexicalRanking = Field(default_factory=lambda: "idf")

    def to_changes(self) -> dict[str, object]:
        return self.model_dump(exclude_unset=True)
