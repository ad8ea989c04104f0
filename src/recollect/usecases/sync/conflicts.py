"""List the conflicts of sync, and resolve them as a person decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from recollect.core.errors import AmbiguousId, Conflict, NotFound
from recollect.core.memory.ids import IdPart
from recollect.core.memory.memory import FIELDS, Changes, Draft
from recollect.core.sync.model import ConflictReport, Keep, Revision, State
from recollect.usecases.context import Context
from recollect.usecases.memory.change import forget, update
from recollect.usecases.memory.remember import remember


async def conflicts(context: Context, owner: str) -> list[ConflictReport]:
    """Every unresolved revision, with the memory it lost against."""
    if context.revisions is None:
        return []
    kept = await context.revisions.revisions(owner)
    return [await _report(context, owner, revision) for revision in kept]


async def resolve(context: Context, owner: str, reference: str, keep: Keep) -> ConflictReport:
    """`current`: the memory stays as it is. `other`: it takes the values of the revision, which is
    an ordinary change. Either way the conflict is over, on every side.
    """
    if context.revisions is None:
        raise _no_conflict(reference)
    found = find_revision(await context.revisions.revisions(owner), reference)
    if keep == "other":
        await _apply_revision(context, owner, found)
    resolved = replace(found, resolved_at=context.clock.now())
    await context.revisions.resolve(owner, resolved)
    return await _report(context, owner, resolved)


async def _report(context: Context, owner: str, revision: Revision) -> ConflictReport:
    return ConflictReport(revision, await context.store.get(owner, revision.memory_id))


async def _apply_revision(context: Context, owner: str, revision: Revision) -> None:
    reference = str(revision.memory_id)
    if revision.kind == "orphan":
        await remember(context, owner, _draft(revision))
        return
    current = await context.store.get(owner, revision.memory_id)
    if current is None:
        raise _no_conflict(str(revision.id))
    if revision.kind == "erase":
        await forget(context, owner, reference, forever=True)
        return
    wanted = State(current).changed(revision.fields).memory
    if wanted.deleted_at is not None and current.deleted_at is None:
        await forget(context, owner, reference)
        return
    if current.deleted_at is not None:
        now = context.clock.now()
        back = replace(
            current,
            deleted_at=None,
            version=current.version + 1,
            updated_at=now,
            changed_by=context.actor,
        )
        if not await context.store.replace(back, based_on=current.version):
            raise Conflict(
                "the memory was changed meanwhile",
                remedy="Run `recollect conflicts show` again, then decide.",
            )
    changes = {
        name: getattr(wanted, name) for name in revision.fields if name in Changes.__annotations__
    }
    if changes:
        await update(context, owner, reference, cast("Changes", changes))


def _draft(revision: Revision) -> Draft:
    known: dict[str, Any] = {
        name: FIELDS[name].from_json(value)
        for name, value in revision.fields.items()
        if name in Changes.__annotations__
    }
    return Draft(**known)


def find_revision(kept: list[Revision], reference: str) -> Revision:
    """The one with this id, or of the memory with this id."""
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
