"""What a local store and its server send each other, and conflicts as people see them.

A memory's fields travel as one flat object. Unknown names are kept and returned unchanged: the
other side may be newer.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from recollect.core.memory.memory import FIELDS, Memory
from recollect.core.sync.model import (
    MAX_ITEMS,
    PROTOCOL,
    SYNCED,
    Answer,
    ChangePage,
    ConflictReport,
    Outgoing,
    Pushed,
    Refusal,
    Remote,
    RemoteRevision,
    Revision,
    State,
)
from recollect.wire.codec import build, codec, listing, read_set
from recollect.wire.fields import TYPES, or_unset, shape_of
from recollect.wire.memory import ADDED
from recollect.wire.values import Id, Input, Moment, QueryBool, QueryInt, Shape, Whole

MAX_POSITION = 2**63 - 1
Position = Annotated[Whole, Field(ge=0, le=MAX_POSITION)]
_LAST_VERSION = 2**31 - 2
Version = Annotated[
    Whole,
    Field(ge=0, le=_LAST_VERSION, json_schema_extra={"minimum": 0, "maximum": _LAST_VERSION}),
]

_STATE: Final = {"id", "version", "created_at", "updated_at", "changed_by", *SYNCED}


class _OpenShape(Shape):
    model_config = ConfigDict(extra="allow")


def _write_state(state: State) -> dict[str, object]:
    return {**state.extra, **{name: getattr(state.memory, name) for name in _STATE}}


def _read_state(found: Any, values: dict[str, Any]) -> State:  # noqa: ANN401  # its shape
    return State(values["memory"], dict(found.model_extra))


STATE: Final = codec(
    State,
    "StateShape",
    """A memory as the server has it, including unknown fields.""",
    base=_OpenShape,
    flat=("memory",),
    # A server does not say whose memory it is: the client may know its owner by another name.
    without={
        "extra": {},
        **{f"memory.{name}": FIELDS[name].default for name in FIELDS.keys() - _STATE},
        "memory.owner": "",
    },
    later=ADDED - {"deleted_at"},
    write=_write_state,
    read=_read_state,
)


_FieldsIn: Any = shape_of(BaseModel, SYNCED.values(), TYPES, or_unset, {})


class FieldsIn(_FieldsIn, BaseModel):  # type: ignore[misc]  # derived
    """Some or all fields of a memory. Unknown ones are kept for versions that know them. Values are
    validated write by write, so that one bad write does not block the others.
    """

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    def to_fields(self) -> dict[str, object]:
        values = read_set(Memory, self)
        known = {name: FIELDS[name].to_json(value) for name, value in values.items()}
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
        return build(Revision, self, fields=self.fields.to_fields())


REVISION: Final = codec(
    RemoteRevision,
    "RevisionOut",
    """A revision and the position of its last change.""",
    flat=("revision",),
    kind={"type": str},
)


class OutgoingIn(Input):
    """One write. Without `fields` it erases; `based_on` is the version it was made from, 0 if new,
    and `earlier` is an edit of the same store that may or may not have arrived.
    """

    id: Id
    edit: Id
    based_on: Version
    version: Version
    fields: FieldsIn | None
    created_at: Moment
    updated_at: Moment
    earlier: Id | None = None

    def to_outgoing(self) -> Outgoing:
        fields = None if self.fields is None else self.fields.to_fields()
        return build(Outgoing, self, fields=fields)


_MAX_ITEMS: dict[str, Any] = {"maxItems": MAX_ITEMS}
_STORE_EXAMPLE = "019cc2a7-0000-7000-8000-00000000aaaa"


class PushIn(Input):
    """What a store wrote while offline, at most one write per memory. `sensitive`: answers may
    contain the text of sensitive memories. `epoch`: the server's at the last pull; in another epoch
    nothing is written, and the answer names it.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "protocol": PROTOCOL,
                    "store": _STORE_EXAMPLE,
                    "memories": [
                        {
                            "id": "019cc2a7-4b59-7d3a-9a55-2f0e6b7c8d9f",
                            "edit": "019cc2a7-4b5a-7d3a-9a55-2f0e6b7c8d9f",
                            "based_on": 0,
                            "version": 1,
                            "fields": {"content": "Written on a train."},
                            "created_at": "2026-03-06T09:30:12Z",
                            "updated_at": "2026-03-06T09:30:12Z",
                        }
                    ],
                }
            ]
        }
    )

    protocol: Whole = Field(json_schema_extra={"const": PROTOCOL})
    store: Id
    epoch: Id | None = None
    memories: list[OutgoingIn] = Field(default=[], json_schema_extra=_MAX_ITEMS)
    revisions: list[RevisionIn] = Field(default=[], json_schema_extra=_MAX_ITEMS)
    sensitive: bool = False


class PullIn(Input):
    """Where to continue, as query parameters."""

    protocol: QueryInt = Field(json_schema_extra={"const": PROTOCOL})
    store: Id
    cursor: Annotated[QueryInt, Field(ge=0, le=MAX_POSITION)] = 0
    limit: QueryInt = Field(default=200, json_schema_extra={"minimum": 1, "maximum": MAX_ITEMS})
    sensitive: QueryBool = False
    count: QueryBool = False


REMOTE: Final = codec(
    Remote,
    "RemoteOut",
    """What the server has of one memory: its state, or `erased`; neither if it is sensitive and
    stays there. `edit` is the last edit of the requesting store in it.
    """,
    memory={"path": "state"},
    erased={"path": "is_erased"},
)
REFUSAL: Final = codec(
    Refusal,
    "RefusalOut",
    """Why a write will never be accepted.""",
)
ANSWER: Final = codec(
    Answer,
    "AnswerOut",
    """The outcome of one write: the current state, or why it was refused.""",
    current={"path": "remote"},
)
PUSHED: Final = codec(
    Pushed,
    "PushedOut",
    """An answer for each write, in the order sent.""",
    flat=("peer",),
)
CHANGES: Final = codec(
    ChangePage,
    "ChangesOut",
    """One page of changes; continue from `cursor` while there is more. `reset`: the cursor is ahead
    of the server, which was restored; compare everything again. `settings` are how recall ranks
    here, `former_names` which project each former name means.
    """,
    flat=("peer",),
    later=("settings", "former_names"),
    reset={"path": "is_reset"},
)
CONFLICT: Final = codec(
    ConflictReport,
    "ConflictOut",
    """A conflict: what was kept of the losing side, and the current memory.""",
    flat=("revision",),
    kind={"type": str},
)
CONFLICTS: Final = listing(
    CONFLICT,
    "conflicts",
    "ConflictsOut",
    """The open conflicts, oldest first.""",
)


class ResolveIn(Input):
    """Which side to keep: the `current` one, or the `other` one that was kept."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"keep": "current"}]})

    keep: Literal["current", "other"]
