"""Store a memory."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.core.errors import Conflict
from recollect.core.ids import check_uuid7, uuid7
from recollect.core.links import check_kinds
from recollect.core.memory import Draft, Memory, checked
from recollect.core.repeated import may_be_repeated, with_what_was_said
from recollect.core.sensitivity import secret_in_draft
from recollect.usecases.projects import meant
from recollect.usecases.rewrite import rewrite

if TYPE_CHECKING:
    from datetime import datetime

    from recollect.usecases.parts import Parts


async def remember(parts: Parts, owner: str, draft: Draft) -> Memory:
    """Keep a draft as a memory. Storing the same draft under the same id again is one memory:
    a writer that did not hear the answer can simply repeat itself. Without an id, a text that is
    stored already in its project stays one memory, which `was_known`.
    """
    now = parts.clock.now()
    if draft.id is not None:
        check_uuid7(draft.id)
    check_kinds(draft.links)
    memory = checked(
        Memory(
            id=draft.id or uuid7(now, os.urandom(10)),
            owner=owner,
            content=draft.content,
            category=draft.category,
            tags=draft.tags,
            expanded_keywords=draft.expanded_keywords,
            importance=draft.importance,
            is_sensitive=bool(draft.is_sensitive),
            project=draft.project,
            session=draft.session,
            created_at=now,
            updated_at=now,
            links=draft.links,
        ),
        parts.limits,
    )
    if memory.project is not None:
        memory = replace(memory, project=await meant(parts, owner, memory.project))
    if secret_in_draft(draft) is not None:
        memory = replace(memory, is_sensitive=True)
    if may_be_repeated(draft):
        known = await parts.store.add_unless_known(memory)
        return memory if known is None else await _say_again(parts, known, memory)
    try:
        await parts.store.add(memory)
    except Conflict as error:
        existing = await parts.store.get(owner, memory.id)
        if existing is None:  # another owner's, of which nothing is said
            raise
        if existing != _at_times_of(memory, existing):
            raise _taken(existing) from error
        return existing
    return memory


async def _say_again(parts: Parts, known: Memory, again: Memory) -> Memory:
    """The memory that was there, with what is new in this draft."""

    def change(current: Memory, _: datetime) -> Memory:
        return checked(with_what_was_said(current, again), parts.limits)

    if with_what_was_said(known, again) != known:
        known = await rewrite(parts, known.owner, known.id, change)
    return replace(known, was_known=True)


def _taken(existing: Memory) -> Conflict:
    """Whoever repeats a write is not to store it twice because the memory has changed since."""
    if existing.deleted_at is not None:
        became = "was forgotten since"
    elif existing.version > 1:
        became = f"was changed since, and has version {existing.version}"
    else:
        return Conflict(
            "the id belongs to another memory",
            remedy="Let Recollect make the id, or choose another one.",
        )
    return Conflict(
        f"the id belongs to a memory that {became}",
        remedy="Nothing is to be done if this repeats the write that stored it; "
        "if it is another memory, store it under another id.",
    )


def _at_times_of(memory: Memory, other: Memory) -> Memory:
    return replace(memory, created_at=other.created_at, updated_at=other.updated_at)
