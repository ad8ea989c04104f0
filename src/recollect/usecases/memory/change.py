"""Change a memory: edit it, link it, go back to a version, forget it. Every change goes through
`rewrite`, which handles concurrent writers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from recollect.core.errors import Conflict, InvalidInput, NotFound
from recollect.core.memory.ids import IdPart
from recollect.core.memory.links import Link, check_kinds
from recollect.core.memory.memory import Changes, Memory, check_memory
from recollect.core.memory.standing import with_standing
from recollect.core.privacy.sensitive import secret_in_changes
from recollect.usecases.context import Context
from recollect.usecases.memory import find
from recollect.usecases.memory.projects import resolve_project
from recollect.usecases.tasks import analyze_text

# Two concurrent writers both succeed; losing ten times in a row to others is a fault.
_ATTEMPTS = 10

Done = TypeVar("Done")


async def rewrite(
    context: Context,
    owner: str,
    id: UUID,
    change: Callable[[Memory, datetime], Memory],
    *,
    chars: int = 0,
    forgotten: bool = False,
) -> Memory:
    """Apply `change`, which adds this many `chars`, to the current state as the next version. If
    another writer was faster, apply it again to that writer's version, so that neither change is
    lost. A `forgotten` memory is changed only on request.
    """

    async def attempt(now: datetime) -> Memory | None:
        current = await find.get(context, owner, str(id), forgotten=forgotten)
        new = await analyze_text(len(current.content) + chars, change, current, now)
        added = {link.target for link in {*new.links} - {*current.links}}
        await context.check_links(owner, added, ())
        changed = next_version(current, new, now, context.actor)
        written = await context.store.replace(changed, based_on=current.version)
        return changed if written else None

    return await retry_on_conflict(context, id, attempt)


async def retry_on_conflict(
    context: Context, id: UUID, attempt: Callable[[datetime], Awaitable[Done | None]]
) -> Done:
    """Call `attempt` until it returns a result. It returns None if another writer of the memory was
    faster.
    """
    for _ in range(_ATTEMPTS):
        if (done := await attempt(context.clock.now())) is not None:
            return done
    raise Conflict(f"memory {id} keeps being changed by others", remedy="Try again in a moment.")


def next_version(current: Memory, changed: Memory, now: datetime, actor: str | None) -> Memory:
    written = replace(changed, version=current.version + 1, updated_at=now, changed_by=actor)
    return with_standing(written, current, actor)


async def update(
    context: Context, owner: str, reference: str, changes: Changes, *, based_on: int | None = None
) -> Memory:
    """Apply changes to the current version; with `based_on`, only if that is the current one."""
    if not changes:
        raise InvalidInput(
            "no change was given", field="changes", remedy="Name at least one field to change."
        )

    if named := (changes.get("project") or "").strip():
        changes = {**changes, "project": await resolve_project(context.store, owner, named)}

    def apply(current: Memory, _: datetime) -> Memory:
        if based_on is not None and based_on != current.version:
            raise _changed_error(current, based_on)
        check_kinds(set(changes.get("links", ())) - set(current.links))
        changed = check_memory(replace(current, **changes), context.limits)
        if secret_in_changes(changes, current) is not None:
            changed = replace(changed, is_sensitive=True)
        return changed

    id = await find.resolve(context, owner, reference)
    return await rewrite(context, owner, id, apply, chars=len(changes.get("content", "")))


def _changed_error(current: Memory, based_on: int) -> Conflict:
    return Conflict(
        f"the change is based on version {based_on}, but version {current.version} is current",
        remedy="Read the memory again and apply the change to its current version.",
    )


# Link a memory to another, or remove a link. Both are ordinary changes of the source memory;
# repeating one is safe.


async def link(context: Context, owner: str, reference: str, kind: str, target: str) -> Memory:
    """Link two memories; both must exist."""
    wanted = Link(kind, await find.resolve(context, owner, target))
    check_kinds([wanted])
    current = await find.get(context, owner, reference)
    if wanted in current.links:
        return current

    def apply(memory: Memory, _: datetime) -> Memory:
        return check_memory(replace(memory, links=(*memory.links, wanted)), context.limits)

    return await rewrite(context, owner, current.id, apply)


async def unlink(context: Context, owner: str, reference: str, kind: str, target: str) -> Memory:
    """Remove a link. The target is looked up among the memory's links: it may no longer exist."""
    prefix = IdPart.parse(target)
    current = await find.get(context, owner, reference)
    matching = [candidate for candidate in current.links if candidate.kind == kind]
    end = prefix.only(prefix.select(item.target for item in matching), "links")
    if end is None:
        raise NotFound(
            f"memory {current.id} has no link {kind[:40]} {target.strip()[:60]}",
            remedy="Run `recollect show` to see its links.",
        )

    def apply(memory: Memory, _: datetime) -> Memory:
        kept = tuple(candidate for candidate in memory.links if candidate != Link(kind, end))
        return replace(memory, links=kept)

    return await rewrite(context, owner, current.id, apply)


# The versions of a memory, and going back to one of them.


async def history(context: Context, owner: str, reference: str) -> list[Memory]:
    """List the versions of a memory, forgotten or not, newest first, starting with the current
    one.
    """
    current = await find.get(context, owner, reference, forgotten=True)
    (marked,) = await find.mark_superseded(context, owner, [current])
    return [marked, *reversed(await context.store.versions(owner, current.id))]


async def restore(context: Context, owner: str, reference: str, version: int) -> Memory:
    """Give a memory the fields of one of its versions, as a new version. It is sensitive if it was
    then or is now, and no longer forgotten.
    """
    versions = await history(context, owner, reference)
    wanted = next((former for former in versions if former.version == version), None)
    if wanted is None:
        raise NotFound(
            f"memory {versions[0].id} has no version {version}",
            remedy="Run `recollect history` to see its versions.",
        )

    def apply(current: Memory, _: datetime) -> Memory:
        is_sensitive = current.is_sensitive or wanted.is_sensitive
        return replace(wanted, is_sensitive=is_sensitive, deleted_at=None, superseded_by=None)

    return await rewrite(context, owner, wanted.id, apply, forgotten=True)


# Forget a memory, or erase it permanently.


async def forget(context: Context, owner: str, reference: str, *, forever: bool = False) -> UUID:
    """Hide a memory from recall and listings; `forever` erases it, forgotten or not."""
    id = await find.resolve(context, owner, reference, forgotten=forever)
    if not forever:
        await rewrite(context, owner, id, _mark_forgotten)
    elif not await context.store.erase(owner, id):
        raise find.not_found(reference)
    return id


async def unforget(context: Context, owner: str, reference: str) -> Memory:
    """Restore a forgotten memory; one that is not forgotten is returned unchanged."""
    memory = await find.get(context, owner, reference, forgotten=True)
    if memory.deleted_at is None:
        return memory
    return await rewrite(context, owner, memory.id, _mark_current, forgotten=True)


def _mark_forgotten(memory: Memory, now: datetime) -> Memory:
    return replace(memory, deleted_at=now)


def _mark_current(memory: Memory, _: datetime) -> Memory:
    return replace(memory, deleted_at=None)
