"""Sync conflicts as people and scripts see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal
from uuid import UUID

from pydantic import ConfigDict

from recollect.core.sync.model import ConflictReport, Revision
from recollect.wire.answers import MemoryOut
from recollect.wire.revisions import revision_body
from recollect.wire.values import Input, Moment, Shape


class ConflictOut(Shape):
    """A conflict: what was kept of the losing side, and the current memory."""

    id: UUID
    memory_id: UUID
    kind: str
    fields: dict[str, Any]
    made_at: Moment
    resolved_at: Moment | None
    current: MemoryOut | None

    @classmethod
    def from_report(cls, report: ConflictReport) -> ConflictOut:
        current = None if report.current is None else MemoryOut.from_memory(report.current)
        return cls.model_validate({**revision_body(report.revision), "current": current})

    def to_report(self) -> ConflictReport:
        values: Mapping[str, Any] = {name: value for name, value in self if name != "current"}
        current = None if self.current is None else self.current.to_memory()
        return ConflictReport(Revision(**values), current)


class ConflictsOut(Shape):
    """The open conflicts, oldest first."""

    conflicts: list[ConflictOut]


class ResolveIn(Input):
    """Which side to keep: the `current` one, or the `other` one that was kept."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"keep": "current"}]})

    keep: Literal["current", "other"]
