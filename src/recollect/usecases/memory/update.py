"""Change a memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from recollect.core.errors import Conflict, InvalidInput
from recollect.core.memory.links import check_kinds
from recollect.core.memory.memory import Changes, Memory, check_memory
from recollect.core.privacy.sensitivity import secret_in_changes
from recollect.usecases.context import Context
from recollect.usecases.memory import find
from recollect.usecases.memory.projects import resolve_project
from recollect.usecases.memory.rewrite import rewrite


async def update(
    context: Context, owner: str, reference: str, changes: Changes, *, based_on: int | None = None
) -> Memory:
    """Apply the given changes: with `based_on` only to that version, otherwise to the
    current one.
    """
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
