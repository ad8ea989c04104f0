"""The project that a folder belongs to, for every shell that works in a folder.

A repository keeps its project when its remote or its folder gets another name: until its memories
have followed, the former name is what it means.
"""

from __future__ import annotations

from pathlib import Path

from recollect.adapters.files.repository import (
    KnownRepositories,
    find_repository,
    project_now,
)
from recollect.core.memory.project import (
    Repository,
    find_folders,
    find_former,
    find_known,
    find_unreached,
)
from recollect.defaults import home_path

TYPE_CHECKING = False  # `typing` itself takes too long in a hook
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from recollect.ports.service import Service

_VARIABLE = "RECOLLECT_PROJECT"


def current_project(folder: Path, environ: Mapping[str, str]) -> str | None:
    """Return RECOLLECT_PROJECT, else the name in the repository's remote, else the repository's
    folder. None outside of a repository, where only global memories apply.
    """
    if named := environ.get(_VARIABLE, "").strip():
        return named
    seen = find_repository(folder)
    if seen is None:
        return None
    known = KnownRepositories(home_path(environ)).read()
    return find_former(seen, known, project_now) or seen.project


async def keep_project(
    recollect: Service, folder: Path, environ: Mapping[str, str]
) -> Repository | None:
    """Note the repository that contains a folder. If it has another name than before, its memories
    follow it; if they cannot, for the store or its server refuses, the former name stays in use.
    """
    from recollect.core.errors import RecollectError

    seen = None if environ.get(_VARIABLE, "").strip() else find_repository(folder)
    if seen is None:
        return None
    file = KnownRepositories(home_path(environ))
    known = file.read()
    mine = find_known(seen, known, project_now)
    if mine is not None:
        seen = seen._replace(was=mine.was)
    if mine == seen:
        return seen
    if mine is not None and mine.project != seen.project:
        try:
            stats = await recollect.stats()
            if mine.project in stats.by_project or mine.project in stats.former_names:
                if find_former(seen, known, project_now) is not None:
                    await recollect.rename_project(mine.project, seen.project)
                seen = seen._replace(was=mine.project)
        except RecollectError:
            return mine
    file.put(seen, mine)
    return seen


def note_told(seen: Repository, environ: Mapping[str, str]) -> None:
    """A person was told of the new name."""
    KnownRepositories(home_path(environ)).put(seen._replace(was=None), seen)


def folders_of_projects(home: str, former: Mapping[str, str]) -> dict[str, list[str]]:
    """The folders on this machine that have each project."""
    return find_folders(KnownRepositories(home).read(), former, project_now)


def unreached_projects(home: str, projects: Iterable[str]) -> dict[str, str]:
    """The projects with memories that no folder on this machine has any more, with the one that
    had.
    """
    return find_unreached(KnownRepositories(home).read(), projects, project_now)
