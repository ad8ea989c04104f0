"""The values that local store and server exchange about memories.

A memory is compared and merged as `Fields`: plain JSON values by name. Names that this version does
not know are kept in `State.extra`, so that a newer peer gets them back unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import FIELDS, Changes, Memory

# Increment it if a peer with the former number could misread what is sent.
PROTOCOL: Final = 1
# How many writes, revisions or changes one request holds.
MAX_ITEMS: Final = 500
# The fields that people change; the others are kept by the stores themselves.
SYNCED: Final = {
    name: field
    for name, field in FIELDS.items()
    if name in Changes.__annotations__ or name == "deleted_at"
}
# What may be sent about a sensitive memory that stays: nothing of its text.
WITHOUT_TEXT: Final = ("is_sensitive", "deleted_at")

Fields = Mapping[str, object]
# edit: values that lost against the server's; forget, erase: a request that lost against a change;
# orphan: a change to a memory that was erased elsewhere, kept only on this machine.
Kind = Literal["edit", "forget", "erase", "orphan"]
Keep = Literal["current", "other"]


@dataclass(frozen=True, slots=True)
class State:
    """A memory with the fields that a newer version gave it."""

    memory: Memory
    extra: Fields = field(default_factory=dict)

    @property
    def fields(self) -> dict[str, object]:
        values = {name: field.to_json(getattr(self.memory, name)) for name, field in SYNCED.items()}
        return {**self.extra, **values}

    def changed(self, fields: Fields, **others: Any) -> State:  # noqa: ANN401  # a memory's own
        """Return the state with other values; names that no memory has go to `extra`."""
        known: dict[str, Any] = {
            name: field.from_json(fields[name]) for name, field in SYNCED.items() if name in fields
        }
        extra = {name: value for name, value in fields.items() if name not in SYNCED}
        return State(replace(self.memory, **known, **others), {**self.extra, **extra})


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One write on its way to the server. Without `fields` it erases. `based_on` is the version it
    was made from, 0 for a new memory; `earlier` is an edit of this store that may or may not have
    arrived, and on which it may also be based.
    """

    id: UUID
    edit: UUID
    based_on: int
    version: int
    fields: Fields | None
    created_at: datetime
    updated_at: datetime
    earlier: UUID | None = None


@dataclass(frozen=True, slots=True)
class Remote:
    """What the server reports about one memory. Without a `state` it is erased, or it is sensitive
    and stays there. `edit` is the last edit of the requesting store in it, which is in
    `edit_version`.
    """

    id: UUID
    change: int
    version: int = 0
    state: State | None = None
    is_erased: bool = False
    deleted_at: datetime | None = None
    edit: UUID | None = None
    edit_version: int = 0


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the server will never take a write as it is, and what to do."""

    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Erase:
    """The decision to remove a memory and leave its tombstone."""


# What the server does about one outgoing write that is based on the current state.
Decision = State | Erase | Refusal


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of one outgoing write: the state that is current now, or why it was refused.
    Neither: the server has no such memory, and the write contained no text to create one.
    """

    id: UUID
    remote: Remote | None = None
    refused: Refusal | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """The side of a conflict that is not current: its values, kept until it is resolved."""

    id: UUID
    memory_id: UUID
    kind: Kind
    fields: Fields
    made_at: datetime
    resolved_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RemoteRevision:
    """A revision as the server has it, and the position of its last change."""

    change: int
    revision: Revision


@dataclass(frozen=True, slots=True)
class ConflictReport:
    """A conflict as people see it: the kept revision, and the memory it lost against."""

    revision: Revision
    current: Memory | None


@dataclass(frozen=True, slots=True)
class Peer:
    """Which server, and whose memories there: a store that is bound to one refuses another. A
    server that was restored from a backup is in another `epoch`.
    """

    server: UUID
    owner: str
    epoch: UUID
    protocol: int = PROTOCOL


@dataclass(frozen=True, slots=True)
class ChangePage:
    """Changes in the order of their positions, and the cursor after them. `is_reset`: the cursor is
    beyond all positions, because the server was restored from a backup. `settings` are how recall
    ranks there, by name, and `former_names` which project each former name means there; an older
    server does not send them.
    """

    peer: Peer
    memories: tuple[Remote, ...] = ()
    revisions: tuple[RemoteRevision, ...] = ()
    cursor: int = 0
    has_more: bool = False
    remaining: int | None = None
    is_reset: bool = False
    settings: Fields | None = None
    former_names: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Pushed:
    """The server's answer to a push."""

    peer: Peer
    answers: tuple[Answer, ...]
    revisions: tuple[RemoteRevision, ...] = ()


@dataclass(frozen=True, slots=True)
class Parked:
    """A write that the server refused for good, and why."""

    id: UUID
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """How far a cached store is. `held` memories are sensitive and stay here."""

    waiting: int = 0
    held: int = 0
    conflicts: int = 0
    parked: tuple[Parked, ...] = ()
    last_sync_at: datetime | None = None
    last_error: str | None = None
    remedy: str | None = None
    key_refused: bool = False


def check_protocol(number: int, *, by: str) -> None:
    """Raise InvalidInput if the peer speaks another protocol; it says which side is older."""
    if number == PROTOCOL:
        return
    older = by if number < PROTOCOL else "this side"
    raise InvalidInput(
        f"the {by} speaks sync protocol {number}, this side speaks {PROTOCOL}",
        field="protocol",
        remedy=f"Upgrade Recollect on the older side, which is {older}; until then nothing is "
        "synced and nothing is lost.",
    )


def delta(state: State, *bases: State) -> Fields:
    """Return the fields in which a state differs from any of its bases; without one, all of
    them.
    """
    fields = state.fields
    if not bases:
        return fields
    before = [base.fields for base in bases]
    return {
        name: value
        for name, value in fields.items()
        if any(name not in base or base[name] != value for base in before)
    }
