"""Find out which project a name means: the rule is in `core/memory/project.py`."""

from __future__ import annotations

from dataclasses import replace

from recollect.core.memory.memory import Scope
from recollect.core.memory.project import is_whole, project_meant
from recollect.usecases.context import Parts


async def meant(parts: Parts, owner: str, name: str, here: str | None = None) -> str:
    """The project that a name means. A whole name is taken as it is: it is what hooks send before
    every prompt.
    """
    if is_whole(name) or name == here:
        return name
    return project_meant(name, await parts.store.projects(owner), here)


async def scope_meant(parts: Parts, owner: str, scope: Scope) -> Scope:
    """A checked scope with its project named in full."""
    if scope.project is None:
        return scope
    return replace(scope, project=await meant(parts, owner, scope.project))
