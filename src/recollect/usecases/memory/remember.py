"""Store one memory, or a batch."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recollect.core.errors import Conflict, InvalidInput, RecollectError
from recollect.core.memory.batch import BatchItem, Remembered, check_batch_size
from recollect.core.memory.duplicates import can_deduplicate, merge_draft, removal_conflict
from recollect.core.memory.ids import check_uuid7, uuid7
from recollect.core.memory.links import check_kinds
from recollect.core.memory.memory import Changes, Draft, Memory, check_memory, check_moment
from recollect.core.memory.standing import with_standing, without_standing
from recollect.core.privacy.sensitive import secret_in_draft
from recollect.core.text.secret import Secret
from recollect.usecases.memory.change import rewrite
from recollect.usecases.memory.projects import resolve_project
from recollect.usecases.tasks import analyze_text

if TYPE_CHECKING:
    from recollect.usecases.context import Context


async def remember(context: Context, owner: str, draft: Draft) -> Memory:
    """Store a draft as a memory. Storing a draft again under the same id has no effect, so a writer
    that got no answer can simply retry. Without an id, a text that its project already has is
    merged into the existing memory, which is returned with `was_known`.
    """
    memory, _ = await _build(context, owner, draft, context.clock.now())
    memory = with_standing(memory, None, context.actor)
    if can_deduplicate(draft):
        known = await context.store.add_unless_known(memory)
        return memory if known is None else await _merge(context, known, memory)
    try:
        await context.store.add(memory)
    except Conflict as error:
        existing = await context.store.get(owner, memory.id)
        if existing is None:  # another owner's: nothing about it is revealed
            raise
        if not _is_repeated(memory, existing):
            raise _taken_error(existing) from error
        return existing
    return memory


async def remember_many(
    context: Context, owner: str, batch: Sequence[BatchItem]
) -> list[Remembered]:
    """Store a batch in one transaction: all valid items, or nothing if the store fails. The results
    are in the order of the batch. Repeating a batch is safe, with or without ids; two writers that
    store the same new text at the same time may both store it.
    """
    check_batch_size(batch)
    now = context.clock.now()
    pending = {item.id for item in batch if isinstance(item, Draft) and item.id is not None}
    # A microsecond apart, so that memories keep the order of the batch when sorted by time.
    built = [
        await _build_or_refuse(context, owner, item, now + timedelta(microseconds=place), pending)
        for place, item in enumerate(batch)
    ]
    # No one types a batch.
    built = [
        item if isinstance(item, Remembered) else (without_standing(item[0]), item[1])
        for item in built
    ]
    same = await _find_same(context, batch, built)
    memories = [
        item[0] for item in built if not isinstance(item, Remembered) and item[0].id not in same
    ]
    new = await context.store.add_all(memories)
    taken = [memory.id for memory in memories if memory.id not in new]
    known = await context.store.get_many(owner, taken, forgotten=True) if taken else {}
    results: list[Remembered] = []
    for item in built:
        if isinstance(item, Remembered):
            results.append(item)
            continue
        memory, secret = item
        if memory.id in same:
            results.append(await _merge_or_refuse(context, same[memory.id], memory, secret))
        elif memory.id in new:
            new.remove(memory.id)
            known[memory.id] = memory  # a later item with the same id is compared with this one
            results.append(Remembered(memory.id, "stored", secret=secret))
        else:
            results.append(_compare(memory, known.get(memory.id), secret))
    return results


async def _find_same(
    context: Context,
    batch: Sequence[BatchItem],
    built: Sequence[tuple[Memory, Secret | None] | Remembered],
) -> dict[UUID, Memory]:
    """Map the new id of each repeated text to the memory that has it: an existing one, or the first
    in the batch.
    """
    repeatable = [
        result[0]
        for item, result in zip(batch, built, strict=True)
        if not isinstance(result, Remembered)
        and not isinstance(item, InvalidInput)
        and can_deduplicate(item)
    ]
    same = await context.store.find_same(repeatable)
    first: dict[tuple[str | None, ...], Memory] = {}
    for memory in repeatable:
        text = (memory.project, *memory.content.split())
        if memory.id not in same and first.setdefault(text, memory) is not memory:
            same[memory.id] = first[text]
    return same


async def _build(
    context: Context, owner: str, draft: Draft, now: datetime, pending: Collection[UUID] = ()
) -> tuple[Memory, Secret | None]:
    """Return the memory to store, and the secret that made it sensitive; raise InvalidInput or
    Conflict.
    """
    if draft.id is not None:
        check_uuid7(draft.id)
    check_kinds(draft.links)
    stated: dict[str, Any] = {name: getattr(draft, name) for name in Changes.__annotations__}
    stated["is_sensitive"] = bool(draft.is_sensitive)
    memory = check_memory(
        Memory(
            **stated,
            id=draft.id or uuid7(now, os.urandom(10)),
            owner=owner,
            created_at=now,
            updated_at=now,
            changed_by=context.actor,
        ),
        context.limits,
    )
    await context.check_links(owner, {link.target for link in draft.links}, pending)
    if memory.project is not None:
        memory = replace(
            memory, project=await resolve_project(context.store, owner, memory.project)
        )
    said_at = check_moment(draft.said_at, "said_at")
    if said_at is not None:
        former = await context.store.former_names(owner)
        names = [memory.project, *(old for old, new in former.items() if new == memory.project)]
        removed = await context.store.find_removed(
            owner, [(name, memory.content) for name in names]
        )
        if removed and said_at <= max(removed.values()):
            raise removal_conflict()
    chars = len(draft.content) + sum(map(len, (*draft.expanded_keywords, *draft.tags)))
    secret = await analyze_text(chars, secret_in_draft, draft)
    return (memory if secret is None else replace(memory, is_sensitive=True)), secret


async def _build_or_refuse(
    context: Context, owner: str, item: BatchItem, now: datetime, pending: Collection[UUID]
) -> tuple[Memory, Secret | None] | Remembered:
    if isinstance(item, InvalidInput):
        return Remembered(None, "refused", item)
    try:
        return await _build(context, owner, item, now, pending)
    except (InvalidInput, Conflict) as error:
        return Remembered(item.id, "refused", error)


def _compare(memory: Memory, existing: Memory | None, secret: Secret | None) -> Remembered:
    """Return the outcome for a memory whose id is taken."""
    if existing is None:  # another owner's: nothing about it is revealed
        return Remembered(memory.id, "refused", _belongs_to_another())
    if _is_repeated(memory, existing):
        return Remembered(memory.id, "present", secret=secret)
    return Remembered(memory.id, "refused", _taken_error(existing))


async def _merge_or_refuse(
    context: Context, known: Memory, again: Memory, secret: Secret | None
) -> Remembered:
    """Merge, or refuse this memory alone: by now the rest of the batch is stored."""
    try:
        await _merge(context, known, again)
    except RecollectError as error:
        return Remembered(known.id, "refused", error)
    return Remembered(known.id, "present", secret=secret)


async def _merge(context: Context, known: Memory, again: Memory) -> Memory:
    """Add what is new in the second memory to the existing one."""

    def change(current: Memory, _: datetime) -> Memory:
        return check_memory(merge_draft(current, again), context.limits)

    if merge_draft(known, again) != known:
        known = await rewrite(context, known.owner, known.id, change)
    return replace(known, was_known=True)


def _taken_error(existing: Memory) -> Conflict:
    """A memory that has changed since must not cause a repeated write to be stored twice."""
    if existing.deleted_at is not None:
        became = "was forgotten since"
    elif existing.version > 1:
        became = f"was changed since, and has version {existing.version}"
    else:
        return _belongs_to_another()
    return Conflict(
        f"the id belongs to a memory that {became}",
        remedy="If this repeats the write that stored it, nothing needs to be done; if it is "
        "another memory, store it under another id.",
    )


def _belongs_to_another() -> Conflict:
    return Conflict(
        "the id belongs to another memory, or to one that was erased",
        remedy="Let Recollect create the id, or choose another one.",
    )


def _is_repeated(memory: Memory, existing: Memory) -> bool:
    """Whether this is the write that stored the existing memory, sent again."""
    return existing == replace(
        memory, created_at=existing.created_at, updated_at=existing.updated_at
    )
