"""Choose the writes to send next, and what of them may leave this machine."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Final
from uuid import UUID

from recollect.adapters.sqlite.rows import moment
from recollect.adapters.sqlite.sync import rows
from recollect.core.sync.model import WITHOUT_TEXT, Outgoing, Revision, State, delta

# A character rarely takes more than six bytes of JSON; a request may have a million.
REQUEST_CHARACTERS: Final = 120_000

# A sensitive memory whose text may not be sent is included because two facts may be: that it became
# sensitive, or was forgotten, after it was sent to the server.
_NEXT: Final = """
SELECT o.id AS asked, o.erased, o.edit, o.earlier, s.version AS synced_version,
    coalesce(s.withheld, 0) AS withheld, m.*
FROM outbox o
LEFT JOIN memories m ON m.owner = o.owner AND m.id = o.id
LEFT JOIN synced s ON s.owner = o.owner AND s.id = o.id
WHERE o.owner = :owner AND (o.erased OR m.id IS NOT NULL)
    AND (o.parked IS NULL OR m.version IS NOT o.parked_version)
    AND (:sensitive OR o.erased OR NOT m.is_sensitive
        OR (s.id IS NOT NULL AND NOT s.withheld)
        OR (s.withheld = 1 AND m.deleted_at IS NOT NULL)
        OR (s.id IS NULL AND o.edit IS NOT NULL))
ORDER BY o.number LIMIT :limit
"""
_REVISIONS: Final = """
SELECT r.* FROM revisions r
JOIN memories m ON m.owner = r.owner AND m.id = r.memory_id
JOIN synced s ON s.owner = r.owner AND s.id = r.memory_id
WHERE r.owner = :owner AND r.unsent = 1 AND (:sensitive OR NOT m.is_sensitive)
ORDER BY r.id LIMIT :limit
"""

NewId = Callable[[], UUID]


def claim(
    writer: sqlite3.Connection,
    owner: str,
    limit: int,
    new_id: NewId,
    *,
    sensitive: bool,
    max_characters: int,
) -> tuple[list[Outgoing], list[Revision]]:
    """Return the next writes, after storing the edit id of each."""
    named = {"owner": owner, "sensitive": sensitive, "limit": limit}
    items: list[Outgoing] = []
    characters = 0
    for row in writer.execute(_NEXT, named).fetchall():
        characters += len(row["content"] or "")
        if items and characters > max_characters:
            break
        items.append(_outgoing(writer, owner, row, new_id, sensitive=sensitive))
    revisions: list[Revision] = []
    for row in writer.execute(_REVISIONS, named).fetchall()[: limit - len(items)]:
        characters += len(row["fields"])
        if (items or revisions) and characters > max_characters:
            break
        revisions.append(rows.to_revision(row))
    return items, revisions


def _outgoing(
    writer: sqlite3.Connection, owner: str, row: sqlite3.Row, new_id: NewId, *, sensitive: bool
) -> Outgoing:
    id = UUID(row["asked"])
    based_on = row["synced_version"] or 0
    uncertain = row["edit"] or row["earlier"]
    earlier = None if uncertain is None else UUID(uncertain)
    if row["erased"]:
        # The text is gone, so the earlier write cannot be repeated: it is named instead.
        now = moment(0)
        return Outgoing(id, new_id(), based_on, based_on + 1, None, now, now, earlier)
    known = rows.read_known(writer, owner, [id])[id]
    state = rows.to_state(row)
    if row["is_sensitive"] and not sensitive:
        fields = state.fields
        allowed = {name: fields[name] for name in WITHOUT_TEXT}
        if known.edit is not None and known.sent is None:
            earlier = None if row["earlier"] is None else UUID(row["earlier"])
            return _of(state, known.edit, based_on, allowed, earlier)  # exactly the same as before
        edit = new_id()
        _note_edit(writer, owner, id, edit, earlier)
        rows.save_state(writer, owner, "sent", id, None)
        return _of(state, edit, based_on, allowed, earlier)
    base = known.base if based_on and not row["withheld"] else None
    if known.edit is not None and known.sent is not None:
        # Sent without an answer: send exactly the same, even if it was changed since.
        return _of(known.sent, known.edit, based_on, _find_changes(known.sent, base), None)
    edit = new_id()
    _note_edit(writer, owner, id, edit, None)
    rows.save_state(writer, owner, "sent", id, state)
    return _of(state, edit, based_on, _find_changes(state, base), None)


def _find_changes(state: State, base: State | None) -> dict[str, object]:
    """Return the fields that differ, and always whether the memory is sensitive: that was decided
    here, and the server must not decide it again from the text.
    """
    changed = delta(state) if base is None else delta(state, base)
    return {**changed, "is_sensitive": state.memory.is_sensitive}


def _note_edit(
    writer: sqlite3.Connection, owner: str, id: UUID, edit: UUID, earlier: UUID | None
) -> None:
    writer.execute(
        "UPDATE outbox SET edit = ?, earlier = ? WHERE owner = ? AND id = ?",
        (str(edit), None if earlier is None else str(earlier), owner, str(id)),
    )


def _of(
    state: State,
    edit: UUID,
    based_on: int,
    fields: dict[str, object],
    earlier: UUID | None,
) -> Outgoing:
    memory = state.memory
    return Outgoing(
        memory.id,
        edit,
        based_on,
        memory.version,
        fields,
        memory.created_at,
        memory.updated_at,
        earlier,
    )
