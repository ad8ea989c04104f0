"""Find out which project a name means, and rename projects: the rules are in
`core/memory/project.py`.

This module must not import an event loop: the hooks' fast recall uses it (docs/adr/0020).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from recollect.core.errors import Conflict, InvalidInput, NotFound
from recollect.core.memory import project
from recollect.core.memory.memory import Scope
from recollect.core.memory.project import Into, Renamed

if TYPE_CHECKING:
    from recollect.usecases.context import Context


class ProjectStore(Protocol):
    """What resolving needs from a store."""

    async def projects(self, owner: str) -> list[str]: ...
    async def former_names(self, owner: str) -> Mapping[str, str]: ...


async def resolve_project(
    store: ProjectStore, owner: str, name: str, here: str | None = None
) -> str:
    """Return the project that a name means. A full name is short for nothing: it is what hooks send
    before every prompt.
    """
    former = await store.former_names(owner)
    if project.is_whole(name) or name == here:
        return former.get(name, name)
    return project.resolve_project(name, await store.projects(owner), here, former)


async def resolve_scope(store: ProjectStore, owner: str, scope: Scope) -> Scope:
    """Return a checked scope with its project named in full."""
    if scope.project is None:
        return scope
    return replace(scope, project=await resolve_project(store, owner, scope.project))


async def rename_project(
    context: Context, owner: str, old: str, new: str, into: Into = "any"
) -> Renamed:
    """Give a project's memories to another name; the old one stays a name of it. Into `any`
    project, repeating it changes nothing, and an old name whose memories have followed another
    name already brings those of the new name there.
    """
    known, former = await context.store.projects(owner), await context.store.former_names(owner)
    if into != "any":
        old = project.resolve_project(old, known, former=former)
    if into == "existing":
        new = project.resolve_project(new, known, former=former)
    elif old in former:
        old, new = new, former[old]
    if former.get(new, old) != old:
        new = former[new]
    if into != "any":
        _check_names(old, new, into, known)
    if old == new or former.get(old) == new:
        return Renamed(old, new, 0)
    moved = await context.store.rename_project(
        owner, old, new, by=context.actor, at=context.clock.now()
    )
    return Renamed(old, new, moved)


def _check_names(old: str, new: str, into: Into, known: list[str]) -> None:
    if old not in known:
        raise NotFound(
            f"there is no project {old[:60]!r}",
            remedy="Run `recollect project list` to see the projects.",
        )
    if old == new:
        raise InvalidInput(
            f"the project is called {new[:60]!r} already",
            field="name",
            remedy="Name another project.",
        )
    if into == "new" and new in known:
        raise Conflict(
            f"there is a project {new[:60]!r} already",
            remedy="To join the two, run `recollect project merge`; it cannot be undone.",
        )
    if into == "existing" and new not in known:
        raise NotFound(
            f"there is no project {new[:60]!r}",
            remedy="Run `recollect project list` to see the projects, or `recollect project "
            "rename` for a new name.",
        )
