"""What the local store and the server exchange, and conflicts as people see them.

A memory's fields travel as one flat object. Unknown names are kept and returned unchanged: the
other side may be newer.
"""

from __future__ import annotations

from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import ConfigDict, Field, Strict

from recollect.core.memory.fields import iso
from recollect.core.memory.memory import FIELDS, Memory
from recollect.core.sync.model import (
    PROTOCOL,
    SYNCED,
    Answer,
    ChangePage,
    Outgoing,
    Peer,
    Pushed,
    Refusal,
    Remote,
    Revision,
    State,
)
from recollect.wire.fields import OUTPUTS, or_default_if_later, shape_of, values_of
from recollect.wire.revisions import FieldsIn, RevisionIn, RevisionOut, revision_body
from recollect.wire.values import Id, Input, Moment, Shape, Whole

MAX_POSITION = 2**63 - 1
Position = Annotated[Whole, Field(ge=0, le=MAX_POSITION)]
_LAST_VERSION = 2**31 - 2
Version = Annotated[
    Whole,
    Field(ge=0, le=_LAST_VERSION, json_schema_extra={"minimum": 0, "maximum": _LAST_VERSION}),
]


_KEPT: Final = tuple(FIELDS[name] for name in ("id", "version", "created_at", "updated_at"))
_STATE: Final = (*_KEPT, *SYNCED.values(), FIELDS["changed_by"])


_StateShape: Any = shape_of(Shape, _STATE, OUTPUTS, or_default_if_later)


class StateShape(_StateShape, Shape):  # type: ignore[misc]  # derived
    """A memory as the server has it, including unknown fields."""

    model_config = ConfigDict(frozen=True, extra="allow")

    @classmethod
    def from_state(cls, state: State) -> StateShape:
        known = {field.name: getattr(state.memory, field.name) for field in _STATE}
        return cls.model_validate({**state.extra, **known}, from_attributes=True)

    def to_state(self, owner: str) -> State:
        memory = Memory(owner=owner, **values_of(self, _STATE))
        return State(memory, dict(self.model_extra or {}))


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
        return Outgoing(**{**dict(self), "fields": fields})


_MAX_ITEMS: dict[str, Any] = {"maxItems": 500}
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


def push_body(
    store: UUID,
    items: list[Outgoing],
    revisions: list[Revision],
    *,
    sensitive: bool,
    epoch: UUID | None,
    protocol: int,
) -> dict[str, object]:
    """A push as the client sends it; the server validates it."""
    return {
        "protocol": protocol,
        "store": str(store),
        "epoch": None if epoch is None else str(epoch),
        "sensitive": sensitive,
        "memories": [outgoing_body(item) for item in items],
        "revisions": [revision_body(revision) for revision in revisions],
    }


def outgoing_body(item: Outgoing) -> dict[str, object]:
    return {
        "id": str(item.id),
        "edit": str(item.edit),
        "based_on": item.based_on,
        "version": item.version,
        "fields": None if item.fields is None else dict(item.fields),
        "created_at": iso(item.created_at),
        "updated_at": iso(item.updated_at),
        "earlier": None if item.earlier is None else str(item.earlier),
    }


class PullIn(Input):
    """Where to continue, as query parameters."""

    protocol: Annotated[int, Strict(strict=False)] = Field(json_schema_extra={"const": PROTOCOL})
    store: Id
    cursor: Annotated[int, Strict(strict=False), Field(ge=0, le=MAX_POSITION)] = 0
    limit: Annotated[int, Strict(strict=False)] = Field(
        default=200, json_schema_extra={"minimum": 1, "maximum": 500}
    )
    sensitive: Annotated[bool, Strict(strict=False)] = False
    count: Annotated[bool, Strict(strict=False)] = False


class RemoteOut(Shape):
    """What the server has of one memory: its state, or `erased`; neither if it is sensitive and
    stays there. `edit` is the last edit of the requesting store in it.
    """

    id: UUID
    change: int
    version: int
    erased: bool
    deleted_at: Moment | None
    edit: UUID | None
    edit_version: int
    memory: StateShape | None

    @classmethod
    def from_remote(cls, remote: Remote) -> RemoteOut:
        return cls(
            id=remote.id,
            change=remote.change,
            version=remote.version,
            erased=remote.is_erased,
            deleted_at=remote.deleted_at,
            edit=remote.edit,
            edit_version=remote.edit_version,
            memory=None if remote.state is None else StateShape.from_state(remote.state),
        )

    def to_remote(self, owner: str) -> Remote:
        return Remote(
            self.id,
            self.change,
            self.version,
            None if self.memory is None else self.memory.to_state(owner),
            self.erased,
            self.deleted_at,
            self.edit,
            self.edit_version,
        )


class RefusalOut(Shape):
    """Why a write will never be accepted."""

    reason: str
    remedy: str


class AnswerOut(Shape):
    """The outcome of one write: the current state, or why it was refused."""

    id: UUID
    current: RemoteOut | None
    refused: RefusalOut | None

    @classmethod
    def from_answer(cls, answer: Answer) -> AnswerOut:
        refused = answer.refused
        return cls(
            id=answer.id,
            current=None if answer.remote is None else RemoteOut.from_remote(answer.remote),
            refused=None
            if refused is None
            else RefusalOut(reason=refused.reason, remedy=refused.remedy),
        )

    def to_answer(self, owner: str) -> Answer:
        return Answer(
            self.id,
            None if self.current is None else self.current.to_remote(owner),
            None if self.refused is None else Refusal(self.refused.reason, self.refused.remedy),
        )


class PeerOut(Shape):
    """The answering server, and the owner it answers for. A server restored from a backup is in
    another `epoch`.
    """

    protocol: int
    server: UUID
    owner: str
    epoch: UUID

    def to_peer(self) -> Peer:
        return Peer(self.server, self.owner, self.epoch)


class PushedOut(PeerOut):
    """An answer for each write, in the order sent."""

    answers: list[AnswerOut]
    revisions: list[RevisionOut]

    @classmethod
    def from_pushed(cls, pushed: Pushed) -> PushedOut:
        return cls(
            protocol=PROTOCOL,
            server=pushed.peer.server,
            owner=pushed.peer.owner,
            epoch=pushed.peer.epoch,
            answers=[AnswerOut.from_answer(answer) for answer in pushed.answers],
            revisions=[RevisionOut.from_remote(revision) for revision in pushed.revisions],
        )

    def to_pushed(self, owner: str) -> Pushed:
        return Pushed(
            self.to_peer(),
            tuple(answer.to_answer(owner) for answer in self.answers),
            tuple(revision.to_remote() for revision in self.revisions),
        )


class ChangesOut(PeerOut):
    """One page of changes; continue from `cursor` while there is more. `reset`: the cursor is ahead
    of the server, which was restored; compare everything again. `settings` are how recall ranks
    here.
    """

    memories: list[RemoteOut]
    revisions: list[RevisionOut]
    cursor: int
    has_more: bool
    remaining: int | None
    reset: bool
    # May include those of a newer server: what cannot be used is ignored, not rejected.
    settings: dict[str, Any] | None = None

    @classmethod
    def from_page(cls, page: ChangePage) -> ChangesOut:
        return cls(
            protocol=PROTOCOL,
            server=page.peer.server,
            owner=page.peer.owner,
            epoch=page.peer.epoch,
            memories=[RemoteOut.from_remote(memory) for memory in page.memories],
            revisions=[RevisionOut.from_remote(revision) for revision in page.revisions],
            cursor=page.cursor,
            has_more=page.has_more,
            remaining=page.remaining,
            reset=page.is_reset,
            settings=None if page.settings is None else dict(page.settings),
        )

    def to_page(self, owner: str) -> ChangePage:
        return ChangePage(
            self.to_peer(),
            tuple(memory.to_remote(owner) for memory in self.memories),
            tuple(revision.to_remote() for revision in self.revisions),
            self.cursor,
            self.has_more,
            self.remaining,
            self.reset,
            self.settings,
        )
