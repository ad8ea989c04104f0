"""Find out which project a name means; the rule is in `core/memory/project.py`."""

from __future__ import annotations

from dataclasses import replace

from recollect.core.memory.memory import Scope
from recollect.core.memory.project import is_whole, resolve_project
from recollect.usecases.context import Context


async def resolve_name(context: Context, owner: str, name: str, here: str | None = None) -> str:
    """The project that a name means. A full name is used as it is: hooks send one before every
    prompt.
    """
    if is_whole(name) or name == here:
        return name
    return resolve_project(name, await context.store.projects(owner), here)


async def resolve_scope(context: Context, owner: str, scope: Scope) -> Scope:
    """A checked scope with its project's full name."""
    if scope.project is None:
        return scope
    return replace(scope, project=await resolve_name(context, owner, scope.project))
