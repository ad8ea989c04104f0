"""Merge the changes of two sides that were offline from each other. Pure, so that it can be tested
exhaustively.

If both changed a field, the server's value stays current; the local one is not dropped but kept as
a revision. Clocks are not used: on real machines they are wrong by hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from recollect.core.memory.links import merge_links
from recollect.core.sync.model import WITHOUT_TEXT, Fields, Kind, Remote, State, delta

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Merged:
    """The fields that are current now, and the local values that lost."""

    fields: Fields
    lost: Fields = field(default_factory=dict)


def merge(base: Fields | None, local: Fields, remote: Fields) -> Merged:
    """Merge field by field against the state that both sides started from; without that, every
    difference counts as a change of both.
    """
    before: Mapping[str, object] = {} if base is None else base
    names = [*remote, *(name for name in local if name not in remote)]
    local_changes = {n for n in names if _differs(before, local, n) or base is None}
    remote_changes = {n for n in names if _differs(before, remote, n) or base is None}
    if base is not None and _is_changed_and_forgotten(local, remote, local_changes, remote_changes):
        kept = sorted(local_changes - {"is_sensitive"})
        mine = {name: local[name] for name in kept if name in local}
        return Merged(
            {**remote, "is_sensitive": _is_sensitive(base, local, remote)},
            {**mine, "deleted_at": local["deleted_at"]},
        )
    fields: dict[str, object] = {}
    lost: dict[str, object] = {}
    links = _merge_links(before, local, remote)
    for name in names:
        if name == "links" and links is not None:
            fields[name] = links
            continue
        winner = local if name in local_changes and name not in remote_changes else remote
        if name in winner:
            fields[name] = winner[name]
        elif winner is remote and name in local and base is None:
            fields[name] = local[name]
        if winner is remote and name in local_changes and _is_lost(name, local, remote, base):
            lost[name] = local[name]
    fields["is_sensitive"] = _is_sensitive(base, local, remote)
    return Merged(fields, lost)


def _merge_links(base: Fields, local: Fields, remote: Fields) -> object | None:
    """Merge links as a set: the additions and removals of both sides apply, and nothing is lost. If
    the result has too many, links are merged like any other field.
    """
    sides: list[Any] = [side.get("links", []) for side in (base, local, remote)]
    return merge_links(*sides)


def _differs(one: Fields, other: Fields, name: str) -> bool:
    return one.get(name, _ABSENT) != other.get(name, _ABSENT)


def _is_lost(name: str, local: Fields, remote: Fields, base: Fields | None) -> bool:
    """Whether the local value is neither current nor equivalent to the current one."""
    if name == "is_sensitive" or name not in local or not _differs(local, remote, name):
        return False
    if name == "deleted_at":  # both forgot it: the moment does not matter
        return (local[name] is None) != (remote.get(name) is None)
    return name in remote or base is not None


def _is_changed_and_forgotten(
    local: Fields, remote: Fields, local_changes: set[str], remote_changes: set[str]
) -> bool:
    gone_here, gone_there = local["deleted_at"] is not None, remote["deleted_at"] is not None
    if gone_here == gone_there:
        return False
    forgot, changed = (
        (local_changes, remote_changes) if gone_here else (remote_changes, local_changes)
    )
    return "deleted_at" in forgot and bool(changed - {"deleted_at"})


def _is_sensitive(base: Fields | None, local: Fields, remote: Fields) -> object:
    """Return the value of the side that changed it; if that is unknown, either side can make it
    sensitive.
    """
    if base is None:
        return local["is_sensitive"] or remote["is_sensitive"]
    changed_here = local["is_sensitive"] != base["is_sensitive"]
    return local["is_sensitive"] if changed_here else remote["is_sensitive"]


@dataclass(frozen=True, slots=True)
class Known:
    """What a store knows about one memory when the server reports it. It `waits` if it has a change
    that the server has not confirmed; `is_erased` if that change is its erasure. `base` is what the
    change is based on, `sent` the state that was sent as `edit` and not answered; `version` is the
    last one that the server sent.
    """

    local: State | None = None
    waits: bool = False
    is_erased: bool = False
    base: State | None = None
    sent: State | None = None
    edit: UUID | None = None
    change: int = 0
    version: int = 0
    is_withheld: bool = False


@dataclass(frozen=True, slots=True)
class Lost:
    """What a conflict leaves to store as a revision."""

    kind: Kind
    fields: Fields


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the store must contain now. While it `waits`, `base` is what the change is based on."""

    state: State | None
    waits: bool = False
    is_erased: bool = False
    base: State | None = None
    lost: Lost | None = None
    is_withheld: bool = False


def reconcile(known: Known, remote: Remote) -> Outcome | None:
    """Return what to do about what the server reports; None if it is not new."""
    if remote.change <= known.change:
        return None
    if remote.is_erased:
        return _merge_erased_there(known)
    if remote.state is None:
        return _merge_kept_there(known, remote)
    if known.is_erased:
        return _merge_erased_here(known, remote, remote.state)
    if known.local is None or not (known.waits or known.is_withheld):
        return Outcome(remote.state)
    return _merge_changes(known, known.local, remote, remote.state)


def _merge_erased_there(known: Known) -> Outcome:
    if known.local is None or not known.waits:
        return Outcome(None)
    return Outcome(None, lost=Lost("orphan", known.local.fields))


def _merge_kept_there(known: Known, remote: Remote) -> Outcome:
    """Make the local copy sensitive too, since the memory is sensitive on the server and stays
    there. A text that was written here and may not travel still waits, so that it is kept if the
    memory is erased there.
    """
    if known.local is None:
        return Outcome(None, waits=known.waits and known.is_erased, is_erased=known.is_erased)
    mine = known.local.memory
    forgotten_here_alone = known.waits and mine.deleted_at is not None and not remote.deleted_at
    state = known.local.changed(
        {},
        is_sensitive=True,
        deleted_at=mine.deleted_at if known.waits else remote.deleted_at,
        version=max(mine.version, remote.version),
    )
    has_own_text = known.waits and _has_other_text(known.local, known.base)
    return Outcome(
        state, waits=has_own_text or forgotten_here_alone, base=known.base, is_withheld=True
    )


def _has_other_text(state: State, base: State | None) -> bool:
    return base is None or not delta(state, base).keys() <= set(WITHOUT_TEXT)


def _merge_erased_here(known: Known, remote: Remote, theirs: State) -> Outcome:
    is_own_edit = known.edit is not None and remote.edit == known.edit
    if is_own_edit and remote.edit_version == remote.version:
        return Outcome(
            None, waits=True, is_erased=True
        )  # a late report of the state that was erased
    if remote.version <= known.version:
        return Outcome(None, waits=True, is_erased=True)  # or brought back by a backup
    return Outcome(theirs, lost=Lost("erase", {}))


def _merge_changes(known: Known, mine: State, remote: Remote, theirs: State) -> Outcome:
    base = known.base
    if known.edit is not None and remote.edit == known.edit:
        base = known.sent  # the server's state contains what was sent
    if known.is_withheld:
        base = None
    merged = merge(None if base is None else base.fields, mine.fields, theirs.fields)
    lost = None
    if merged.lost:
        forgot = merged.lost.get("deleted_at") is not None
        lost = Lost("forget" if forgot else "edit", merged.lost)
    # A version number that was once current here is never reused for another state.
    if merged.fields == theirs.fields and theirs.memory.version >= mine.memory.version:
        return Outcome(theirs, lost=lost)
    others: dict[str, Any] = {
        "version": max(mine.memory.version, theirs.memory.version) + 1,
        "updated_at": max(mine.memory.updated_at, theirs.memory.updated_at),
    }
    state = replace(theirs, extra={}).changed(merged.fields, **others)
    return Outcome(state, waits=True, base=theirs, lost=lost)
