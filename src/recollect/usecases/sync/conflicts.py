"""List sync conflicts, and resolve them as a person decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from recollect.core.errors import AmbiguousId, NotFound
from recollect.core.memory.ids import IdPart
from recollect.core.memory.memory import FIELDS, Changes, Draft
from recollect.core.sync.model import ConflictReport, Keep, Revision, State
from recollect.usecases.context import Context
from recollect.usecases.memory.change import forget, unforget, update
from recollect.usecases.memory.remember import remember


async def conflicts(context: Context, owner: str) -> list[ConflictReport]:
    """List every unresolved revision with the memory it conflicts with."""
    if context.revisions is None:
        return []
    kept = await context.revisions.revisions(owner)
    return [await _report(context, owner, revision) for revision in kept]


async def resolve(context: Context, owner: str, reference: str, keep: Keep) -> ConflictReport:
    """Resolve a conflict, on all sides. `current` leaves the memory unchanged; `other` gives it the
    values of the revision, as an ordinary change.
    """
    if context.revisions is None:
        raise _no_conflict(reference)
    found = find_revision(await context.revisions.revisions(owner), reference)
    if keep == "other":
        # Whoever chooses did not write the text.
        chosen_by = f"conflict resolved by {context.actor or 'someone'}"
        await _apply_revision(replace(context, actor=chosen_by), owner, found)
    resolved = replace(found, resolved_at=context.clock.now())
    await context.revisions.resolve(owner, resolved)
    return await _report(context, owner, resolved)


async def _report(context: Context, owner: str, revision: Revision) -> ConflictReport:
    return ConflictReport(revision, await context.store.get(owner, revision.memory_id))


async def _apply_revision(context: Context, owner: str, revision: Revision) -> None:
    reference = str(revision.memory_id)
    if revision.kind == "orphan":
        await remember(context, owner, _to_draft(revision))
        return
    current = await context.store.get(owner, revision.memory_id)
    if current is None:
        raise _no_conflict(str(revision.id))
    if revision.kind == "erase":
        await forget(context, owner, reference, forever=True)
        return
    target = State(current).changed(revision.fields).memory
    if target.deleted_at is not None and current.deleted_at is None:
        await forget(context, owner, reference)
        return
    if current.deleted_at is not None:
        await unforget(context, owner, reference)
    changes = {
        name: getattr(target, name) for name in revision.fields if name in Changes.__annotations__
    }
    if changes:
        await update(context, owner, reference, cast("Changes", changes))


def _to_draft(revision: Revision) -> Draft:
    known: dict[str, Any] = {
        name: FIELDS[name].from_json(value)
        for name, value in revision.fields.items()
        if name in Changes.__annotations__
    }
    return Draft(**known)


def find_revision(kept: list[Revision], reference: str) -> Revision:
    """Find a revision by its own id or its memory's."""
    prefix = IdPart.parse(reference)
    meant = {*prefix.select(id for each in kept for id in (each.id, each.memory_id))}
    found = [revision for revision in kept if {revision.id, revision.memory_id} & meant]
    if not found:
        raise _no_conflict(reference)
    if len(found) > 1:
        ids = ", ".join(str(revision.id) for revision in found)
        raise AmbiguousId(
            f"{prefix.text} matches several conflicts: {ids}",
            field="id",
            remedy="Give the id of one of them.",
        )
    return found[0]


def _no_conflict(reference: str) -> NotFound:
    return NotFound(
        f"there is no conflict {reference.strip()[:60]}",
        remedy="See `recollect conflicts list` for those that are open.",
    )
