"""Find out which project a name means: the rule is in `core/memory/project.py`.

This module must not import an event loop: the hooks' fast recall uses it (docs/adr/0020).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from recollect.core.memory import project
from recollect.core.memory.memory import Scope


class ProjectStore(Protocol):
    """What resolving needs from a store."""

    async def projects(self, owner: str) -> list[str]: ...


async def resolve_project(
    store: ProjectStore, owner: str, name: str, here: str | None = None
) -> str:
    """Return the project that a name means. A full name is returned without a lookup: hooks send
    one before every prompt.
    """
    if project.is_whole(name) or name == here:
        return name
    return project.resolve_project(name, await store.projects(owner), here)


async def resolve_scope(store: ProjectStore, owner: str, scope: Scope) -> Scope:
    """Return a checked scope with its project named in full."""
    if scope.project is None:
        return scope
    return replace(scope, project=await resolve_project(store, owner, scope.project))
