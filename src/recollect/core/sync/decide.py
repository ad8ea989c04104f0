"""What the server does about one write of a client: a pure decision, given the current state.

Only a write that is based on the current version is applied. Any other is answered with the current
state, and the client merges: only the client knows what its change is based on.
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
from recollect.core.privacy.sensitive import new_texts, strings_in
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
from recollect.core.text.analysis import find_unstorable
from recollect.core.text.secret import Secret

# A client counts its own edits while it is offline; no honest one gets further than this.
_MAX_VERSIONS_AT_ONCE = 1_000


def decide(
    owner: str, item: Outgoing, current: Remote | None, limits: Limits, now: datetime
) -> Decision | None:
    """Return what to do about an item and the memory that it meets; None if that has moved on."""
    if current is not None and current.is_erased:
        return None
    if item.fields is None:
        # A memory older than the erased version came back with a backup.
        is_old = current is not None and current.version < item.based_on
        return Erase() if current is None or is_old or _is_based_on(item, current) else None
    if current is None or current.state is None:
        return _accept_new(owner, item, limits, now) if "content" in item.fields else None
    if not _is_based_on(item, current):
        return None
    return _apply_change(item, current, current.state, limits, now)


def _is_based_on(item: Outgoing, current: Remote) -> bool:
    if current.edit == item.edit:
        return False  # a repeated delivery: it was already applied
    if current.version == item.based_on:
        return True
    is_last = current.edit_version == current.version
    return item.earlier is not None and current.edit == item.earlier and is_last


def _accept_new(owner: str, item: Outgoing, limits: Limits, now: datetime) -> Decision:
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
    """Apply a push with the same checks as `remember` and `update`; the same texts make a memory
    sensitive.
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
    """Return what makes a pushed memory sensitive if its writer did not decide. Fields that this
    version does not know are checked as JSON, so that a name such as `password` counts with its
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
    """Check the fields that this version does not know, which are stored unchanged."""
    if (found := _find_unstorable_in(unknown)) is not None:
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
    if _find_unstorable_in([revision.kind, revision.fields]) is not None:
        return False
    return len(json.dumps(revision.fields, ensure_ascii=False)) <= limits.all_fields


def _find_unstorable_in(value: object) -> str | None:
    """Describe what in a JSON value no store can keep, if there is anything."""
    for part in _parts(value):
        if isinstance(part, float) and not isfinite(part):
            return "a number that is not finite"
        if isinstance(part, str) and (found := find_unstorable(part)) is not None:
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
