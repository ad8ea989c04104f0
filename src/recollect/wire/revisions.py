"""Fields of a memory as they travel, and the losing sides of conflicts, which consist of them."""

from __future__ import annotations

from typing import Annotated, Any, cast
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from recollect.core.memory.fields import iso
from recollect.core.sync.model import SYNCED, Kind, RemoteRevision, Revision
from recollect.wire.fields import PUSHED, or_unset, shape_of, values_of
from recollect.wire.values import Id, Input, Moment, Shape

_FieldsIn: Any = shape_of(BaseModel, SYNCED.values(), PUSHED, or_unset)


class FieldsIn(_FieldsIn, BaseModel):  # type: ignore[misc]  # derived
    """Some or all fields of a memory. Unknown ones are kept for versions that know them. Values are
    validated write by write, so that one bad write does not block the others.
    """

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    def to_fields(self) -> dict[str, object]:
        given = [field for name, field in SYNCED.items() if name in self.model_fields_set]
        values = values_of(self, given)
        known = {field.name: field.to_json(values[field.name]) for field in given}
        return {**(self.model_extra or {}), **known}


class RevisionIn(Input):
    """The losing side of a conflict. Unknown kinds are kept for versions that know them."""

    id: Id
    memory_id: Id
    kind: Annotated[str, Field(max_length=40, examples=["edit"])]
    fields: FieldsIn
    made_at: Moment
    resolved_at: Moment | None = None

    def to_revision(self) -> Revision:
        return Revision(
            self.id,
            self.memory_id,
            cast("Kind", self.kind),
            self.fields.to_fields(),
            self.made_at,
            self.resolved_at,
        )


def revision_body(revision: Revision) -> dict[str, Any]:
    """A revision as a client sends it; the server validates it."""
    resolved = revision.resolved_at
    return {
        "id": str(revision.id),
        "memory_id": str(revision.memory_id),
        "kind": revision.kind,
        "fields": dict(revision.fields),
        "made_at": iso(revision.made_at),
        "resolved_at": None if resolved is None else iso(resolved),
    }


class RevisionOut(Shape):
    """A revision and the position of its last change."""

    change: int
    id: UUID
    memory_id: UUID
    kind: str
    fields: dict[str, Any]
    made_at: Moment
    resolved_at: Moment | None

    @classmethod
    def from_remote(cls, remote: RemoteRevision) -> RevisionOut:
        return cls.model_validate({"change": remote.change, **revision_body(remote.revision)})

    def to_remote(self) -> RemoteRevision:
        values = {name: value for name, value in self if name != "change"}
        return RemoteRevision(self.change, Revision(**values))
