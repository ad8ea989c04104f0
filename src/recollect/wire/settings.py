"""The run-time settings, changes to them, and the log of changes."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, Strict

from recollect.core.recall.fusion import Fusion
from recollect.core.recall.settings import (
    LEGAL,
    MAX_SETTINGS_LOG,
    Range,
    RecallSettings,
    SecondStage,
    SettingChange,
    Switch,
)
from recollect.wire.values import Input, Moment, Shape, Whole

DEFAULT_LOG = 50
SettingValue = bool | int | float | str


class SettingsOut(Shape):
    """How recall ranks, starting with the next request."""

    lexical_weight: float
    dense_weight: float
    graph_weight: float
    fusion: Fusion
    vote: float
    rrf_k: int
    depth: int
    deadline_ms: int
    prior_strength: float
    min_relevance: float
    second_stage: SecondStage
    rerank_depth: int
    rerank_timeout_ms: int
    newer_first: Switch

    @classmethod
    def from_settings(cls, settings: RecallSettings) -> SettingsOut:
        return cls(**settings.as_dict())


class SettingsSaid(Shape):
    """The settings as a client reads them from a server of any version: unknown settings have this
    version's default.
    """

    model_config = ConfigDict(extra="allow")

    lexical_weight: float

    def to_settings(self) -> RecallSettings:
        return RecallSettings().with_stored(self.model_dump())


def _legal(name: str) -> dict[str, Any]:
    legal = LEGAL[name]
    return {"minimum": legal.low, "maximum": legal.high} if isinstance(legal, Range) else {}


class SettingsIn(Input):
    """The settings to change; others stay as they are."""

    model_config = ConfigDict(
        json_schema_extra={
            "minProperties": 1,
            "examples": [{"lexical_weight": 1.0, "fusion": "convex"}],
        }
    )

    lexical_weight: float = Field(default_factory=float, json_schema_extra=_legal("lexical_weight"))
    dense_weight: float = Field(default_factory=float, json_schema_extra=_legal("dense_weight"))
    graph_weight: float = Field(default_factory=float, json_schema_extra=_legal("graph_weight"))
    fusion: Fusion = Field(default_factory=lambda: "standout")
    vote: float = Field(default_factory=float, json_schema_extra=_legal("vote"))
    rrf_k: Whole = Field(default_factory=int, json_schema_extra=_legal("rrf_k"))
    depth: Whole = Field(default_factory=int, json_schema_extra=_legal("depth"))
    deadline_ms: Whole = Field(default_factory=int, json_schema_extra=_legal("deadline_ms"))
    prior_strength: float = Field(default_factory=float, json_schema_extra=_legal("prior_strength"))
    min_relevance: float = Field(default_factory=float, json_schema_extra=_legal("min_relevance"))
    second_stage: SecondStage = Field(default_factory=lambda: "late")
    rerank_depth: Whole = Field(default_factory=int, json_schema_extra=_legal("rerank_depth"))
    rerank_timeout_ms: Whole = Field(
        default_factory=int, json_schema_extra=_legal("rerank_timeout_ms")
    )
    newer_first: Switch = Field(default_factory=lambda: "on")

    def to_changes(self) -> dict[str, object]:
        return self.model_dump(exclude_unset=True)


class SettingChangeOut(Shape):
    """One change. `old` is null if it was the default; `by` is the owner of the key that was used,
    or of the local store; a client of a server can also have "the server" there.
    """

    name: str
    old: SettingValue | None
    new: SettingValue
    by: str
    at: Moment

    @classmethod
    def from_change(cls, change: SettingChange) -> SettingChangeOut:
        return cls.model_validate(
            {
                "name": change.name,
                "old": change.old,
                "new": change.new,
                "by": change.by,
                "at": change.at,
            }
        )

    def to_change(self) -> SettingChange:
        return SettingChange(self.name, self.old, self.new, self.by, self.at)


class SettingsLogOut(Shape):
    """The latest setting changes, newest first."""

    changes: list[SettingChangeOut]


class SettingsLogIn(Input):
    """How many entries of the log, as a query parameter."""

    limit: Annotated[int, Strict(strict=False)] = Field(
        default=DEFAULT_LOG, json_schema_extra={"minimum": 1, "maximum": MAX_SETTINGS_LOG}
    )
