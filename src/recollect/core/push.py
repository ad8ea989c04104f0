"""What the server does about one write of a client: a pure decision over what is there.

Only a write that is based on the present version is applied. Everything else is answered with what
is current, and the client merges: it alone knows what its change was made from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isfinite

from recollect.core.errors import InvalidInput
from recollect.core.ids import check_uuid7
from recollect.core.memory import Limits, Memory, checked
from recollect.core.sync import Decision, Erase, Outgoing, Refusal, Remote, State
from recollect.core.text import unstorable

# A client counts its own edits while it is away; no honest one gets further than this.
_MOST_VERSIONS_AT_ONCE = 1_000


def decide(owner: str, item: Outgoing, current: Remote | None, limits: Limits) -> Decision | None:
    """What to do about an item and the memory it meets; nothing when that has moved on."""
    if current is not None and current.is_erased:
        return None
    if item.fields is None:
        # What is older than the erased version came back with a backup.
        is_old = current is not None and current.version < item.based_on
        return Erase() if current is None or is_old or _is_based_on(item, current) else None
    if current is None or current.state is None:
        return _new(owner, item, limits) if "content" in item.fields else None
    return _changed(item, current, current.state, limits) if _is_based_on(item, current) else None


def _is_based_on(item: Outgoing, current: Remote) -> bool:
    if current.edit == item.edit:
        return False  # a repeated delivery: it is in there already
    if current.version == item.based_on:
        return True
    is_last = current.edit_version == current.version
    return item.earlier is not None and current.edit == item.earlier and is_last


def _new(owner: str, item: Outgoing, limits: Limits) -> Decision:
    empty = Memory(item.id, owner, "", item.created_at, item.updated_at)
    version = max(1, min(item.version, _MOST_VERSIONS_AT_ONCE))
    return _accepted(item, State(empty), limits, version)


def _changed(item: Outgoing, current: Remote, state: State, limits: Limits) -> Decision:
    version = min(item.version, current.version + _MOST_VERSIONS_AT_ONCE)
    return _accepted(item, state, limits, max(version, current.version + 1))


def _accepted(item: Outgoing, before: State, limits: Limits, version: int) -> Decision:
    try:
        check_uuid7(item.id)
        after = before.changed(item.fields or {}, version=version, updated_at=item.updated_at)
        _check_extra(after.extra)
        return replace(after, memory=checked(after.memory, limits))
    except InvalidInput as error:
        return Refusal(str(error), error.remedy)


def _check_extra(extra: object) -> None:
    """Fields that nobody here knows are kept as they are, as far as they can be kept."""
    if (found := unstorable_in(extra)) is not None:
        raise InvalidInput(
            f"a field contains {found}, which cannot be stored",
            field="memory",
            remedy="Remove it, or convert the text to valid UTF-8.",
        )


def unstorable_in(value: object) -> str | None:
    """What of a JSON value no store can keep, if there is something."""
    for part in _parts(value):
        if isinstance(part, float) and not isfinite(part):
            return "a number without end"
        if isinstance(part, str) and (found := unstorable(part)) is not None:
            return found
    return None


def _parts(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield name
            yield from _parts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _parts(inner)
    else:
        yield value
