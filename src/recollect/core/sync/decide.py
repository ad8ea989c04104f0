"""What the server does about one write of a client: a pure decision over what is there.

Only a write that is based on the present version is applied. Everything else is answered with what
is current, and the client merges: it alone knows what its change was made from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from math import isfinite

from recollect.core.errors import InvalidInput
from recollect.core.memory.ids import check_uuid7
from recollect.core.memory.memory import Limits, Memory, check_memory, correct_dates
from recollect.core.privacy.secrets.detect import looks_sensitive
from recollect.core.privacy.sensitivity import new_texts, strings_in
from recollect.core.sync.model import (
    SYNCED,
    Decision,
    Erase,
    Fields,
    Outgoing,
    Refusal,
    Remote,
    Revision,
    State,
)
from recollect.core.text.analysis import unstorable
from recollect.core.text.secret import Secret

# A client counts its own edits while it is away; no honest one gets further than this.
_MAX_VERSIONS_AT_ONCE = 1_000


def decide(
    owner: str, item: Outgoing, current: Remote | None, limits: Limits, now: datetime
) -> Decision | None:
    """What to do about an item and the memory it meets; nothing when that has moved on."""
    if current is not None and current.is_erased:
        return None
    if item.fields is None:
        # What is older than the erased version came back with a backup.
        is_old = current is not None and current.version < item.based_on
        return Erase() if current is None or is_old or _is_based_on(item, current) else None
    if current is None or current.state is None:
        return _new(owner, item, limits, now) if "content" in item.fields else None
    if not _is_based_on(item, current):
        return None
    return _apply_change(item, current, current.state, limits, now)


def _is_based_on(item: Outgoing, current: Remote) -> bool:
    if current.edit == item.edit:
        return False  # a repeated delivery: it is in there already
    if current.version == item.based_on:
        return True
    is_last = current.edit_version == current.version
    return item.earlier is not None and current.edit == item.earlier and is_last


def _new(owner: str, item: Outgoing, limits: Limits, now: datetime) -> Decision:
    empty = Memory(
        id=item.id,
        owner=owner,
        content="",
        created_at=item.created_at,
        updated_at=item.updated_at,
    )
    version = max(1, min(item.version, _MAX_VERSIONS_AT_ONCE))
    return _accept(item, State(empty), limits, version, now)


def _apply_change(
    item: Outgoing, current: Remote, state: State, limits: Limits, now: datetime
) -> Decision:
    version = min(item.version, current.version + _MAX_VERSIONS_AT_ONCE)
    return _accept(item, state, limits, max(version, current.version + 1), now)


def _accept(item: Outgoing, before: State, limits: Limits, version: int, now: datetime) -> Decision:
    """A push says what `remember` and `update` say, so the same is checked, and the same text makes
    a memory sensitive.
    """
    fields = item.fields or {}
    try:
        check_uuid7(item.id)
        after = before.changed(fields, version=version, updated_at=item.updated_at)
        _check_unknown(after.extra, limits)
        memory = correct_dates(check_memory(after.memory, limits), now)
    except InvalidInput as error:
        return Refusal(str(error), error.remedy)
    if _secret_in(fields, before) is not None:
        memory = replace(memory, is_sensitive=True)
    return replace(after, memory=memory)


def _secret_in(fields: Fields, before: State) -> Secret | None:
    """What makes a pushed memory sensitive when its writer did not say whether it is. Fields that
    this version does not know are judged as JSON, so that a name such as `password` counts with its
    value.
    """
    if "is_sensitive" in fields:
        return None
    unknown = {
        name: value
        for name, value in fields.items()
        if name not in SYNCED and before.extra.get(name) != value
    }
    texts = [*new_texts(fields, before.memory), *strings_in(unknown)]
    return looks_sensitive("\n".join([*texts, json.dumps(unknown, ensure_ascii=False)]))


def _check_unknown(unknown: Fields, limits: Limits) -> None:
    """Fields that this version does not know are kept as they are, as far as they can be kept."""
    if (found := unstorable_in(unknown)) is not None:
        raise InvalidInput(
            f"a field contains {found}, which cannot be stored",
            field="memory",
            remedy="Remove it, or convert the text to valid UTF-8.",
        )
    if (length := len(json.dumps(unknown, ensure_ascii=False))) > limits.unknown:
        raise InvalidInput(
            f"the fields that this server does not know have {length:,} characters; the limit is "
            f"{limits.unknown:,}",
            field="memory",
            remedy="Upgrade the server, if a newer version knows these fields; or shorten them.",
        )


def can_be_kept(revision: Revision, limits: Limits) -> bool:
    """Whether the losing side of a conflict has the text and the size of a memory."""
    if unstorable_in([revision.kind, revision.fields]) is not None:
        return False
    return len(json.dumps(revision.fields, ensure_ascii=False)) <= limits.all_fields


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
