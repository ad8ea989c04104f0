"""Which project a repository belongs to, and which project a name means.

One repository is cloned in many places and with many spellings of its address, and its memories
belong together. So the name has what the spellings have in common, host and path, and nothing else:
no scheme, no port, no user, and above all no token that someone put in the address.

No one types such a name, so a short one is accepted: its last segments, or the name of the folder.
This is the rule in every shell:

- storing, where no project is named: the project of the folder, if it is in a repository;
- recalling and listing, where no project is named: that project and global memories; outside a
  repository everything;
- a name that is a known project means that one; else the one project that it is short for; an
  ambiguous name is an error, unless the folder's own project is among the candidates; a name that
  fits nothing means itself;
- a former name of a project means that project: a repository gets another name when its remote
  changes or its folder is renamed, and its memories follow it (docs/adr/0063).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import Scope

_WITH_SCHEME: Final = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:[^/]*@)?(?P<host>\[[^\]]*\]|[^/:]*)(?::[0-9]*)?/(?P<path>.*)",
    re.IGNORECASE | re.DOTALL,
)
# git@host:path, without a scheme. A Windows drive is one letter, and no host.
_SCP: Final = re.compile(r"(?:[^/@:]+@)?(?P<host>\[[^\]]*\]|[^/:@]{2,}):(?P<path>.*)", re.DOTALL)
_MAX_NAME: Final = 200
_FOLDER: Final = re.compile(r"(?P<name>[^/]+)-[0-9a-f]{8}")
# host/owner/repository
_WHOLE_SEGMENTS: Final = 3
NO_FORMER_NAMES: Final[Mapping[str, str]] = MappingProxyType({})


def remote_project(url: str) -> str | None:
    """Return `host/path` in lower case; None if the address is a place on this machine, or no
    address.

    Lower case throughout, because the large hosts accept a path in any case. Two repositories of
    one host whose paths differ only in case would be one project.
    """
    found = _WITH_SCHEME.fullmatch(url.strip()) or _SCP.fullmatch(url.strip())
    if found is None:
        return None
    host = found["host"].lower().rstrip(".")
    parts = [part for part in found["path"].split("/") if part not in ("", ".")]
    if not host or not parts or found.groupdict().get("scheme", "").lower() == "file":
        return None
    parts[-1] = parts[-1].removesuffix(".git") or parts[-1]
    # On hosts with repositories in users' home folders, ~ is part of the path.
    name = "/".join((host, *parts)).lower()
    return _strip_unprintable(name)[:_MAX_NAME]


def folder_project(name: str, digest: str) -> str:
    """Return the project of a repository without a remote: its folder's name, and some digits of
    the path's hash, since two folders may share a name.
    """
    return f"{_strip_unprintable(name)[:_MAX_NAME] or 'folder'}-{digest[:8]}"


def is_whole(project: str) -> bool:
    """Whether a name has the form that `remote_project` and `folder_project` create: it is short
    for nothing, so no store needs to be queried.
    """
    host, *path = project.split("/")
    return _FOLDER.fullmatch(project) is not None or (
        "." in host and len(path) + 1 >= _WHOLE_SEGMENTS
    )


def is_short_for(name: str, project: str) -> bool:
    """Whether a name is the last segments of a project's name, or the folder it is named after."""
    folder = _FOLDER.fullmatch(project)
    whole = project if folder is None else folder["name"]
    return f"/{whole}".casefold().endswith(f"/{name}".casefold())


def short_names(projects: Iterable[str]) -> dict[str, str]:
    """Map each project to the fewest of its last segments that identify it among them."""
    listed = {*projects}
    return {project: _find_shortest(project, listed - {project}) for project in listed}


def _find_shortest(project: str, others: Iterable[str]) -> str:
    folder = _FOLDER.fullmatch(project)
    segments = (project if folder is None else folder["name"]).split("/")
    for start in range(len(segments) - 1, -1, -1):
        name = "/".join(segments[start:])
        if name and not any(names(name, other) for other in others):
            return name
    return project


def names(name: str, project: str) -> bool:
    """Whether a name means this project if there are no others."""
    return name.strip() == project or is_short_for(name.strip(), project)


def resolve_project(
    name: str,
    known: Iterable[str],
    here: str | None = None,
    former: Mapping[str, str] = NO_FORMER_NAMES,
) -> str:
    """Return the project that a name means among the `known` ones and that of the folder, also by
    their `former` names; InvalidInput if it is ambiguous.
    """
    here = None if here is None else former.get(here, here)
    if name in former:
        return former[name]
    projects = {*known, *([] if here is None else [here])}
    if name in projects:
        return name
    fitting = (project for project in (*projects, *former) if is_short_for(name, project))
    candidates = sorted({former.get(project, project) for project in fitting})
    if here is not None and here in candidates:
        return here
    if len(candidates) > 1:
        raise InvalidInput(
            f"{name[:60]!r} could be any of these projects: {', '.join(candidates)}",
            field="project",
            remedy="Use the full name of one of them.",
        )
    return candidates[0] if candidates else name


def project_to_store_in(
    named: str | None, here: str | None, *, is_global: bool = False
) -> str | None:
    """Return the project of a new memory: the named one, else the folder's, unless it is global."""
    if is_global and named is not None:
        raise InvalidInput(
            "a memory cannot be both global and in a project",
            field="project",
            remedy="Name a project, or make the memory global.",
        )
    return None if is_global else here if named is None else named


def scope_here(scope: Scope, here: str | None) -> Scope:
    """Return the scope of a recall or a listing: by default, the folder's project and global
    memories. A scope that already says which memories it means stays as it is.
    """
    if here is None or scope.project is not None or scope.with_global:
        return scope
    return replace(scope, project=here, with_global=True)


Into = Literal["new", "existing", "any"]
"""What a project may be renamed into: a name that is not in use, a project that is, or either."""


@dataclass(frozen=True, slots=True)
class Renamed:
    """How many memories came along from `project` to `name`."""

    project: str
    name: str
    memories: int


class Repository(NamedTuple):
    """A repository as it was last seen on this machine: the folder that git keeps it in, when git
    made that (0: unknown), and its project. `was`: its project before, until a person was told.
    """

    path: str
    birth: int
    project: str
    was: str | None = None


def find_known(
    seen: Repository, known: Sequence[Repository], project_now: Callable[[Repository], str | None]
) -> Repository | None:
    """What is known of this repository: it is in its place, or it was moved from a place where it
    no longer is. `project_now`: of a repository, if it is still in its place. A copy is another
    repository as long as the original is there.
    """
    for one in known:
        if (one.path, one.birth) == (seen.path, seen.birth):
            return one
    moved = (one for one in known if seen.birth and one.birth == seen.birth)
    return next((one for one in moved if project_now(one) is None), None)


def find_former(
    seen: Repository, known: Sequence[Repository], project_now: Callable[[Repository], str | None]
) -> str | None:
    """The name that a repository had, if it has another one now and no other folder on this machine
    still has that: then its memories are to follow it.
    """
    mine = find_known(seen, known, project_now)
    if mine is None or mine.project == seen.project:
        return None
    others = (one for one in known if one is not mine and one.project == mine.project)
    return None if any(project_now(one) == mine.project for one in others) else mine.project


def find_folders(
    known: Sequence[Repository],
    former: Mapping[str, str],
    project_now: Callable[[Repository], str | None],
) -> dict[str, list[str]]:
    """The folders on this machine that have each project, also by a former name of it."""
    folders: dict[str, list[str]] = {}
    for one in known:
        if (name := project_now(one)) is not None:
            folders.setdefault(former.get(name, name), []).append(one.path.removesuffix("/.git"))
    return {name: sorted(paths) for name, paths in folders.items()}


def find_unreached(
    known: Sequence[Repository],
    projects: Iterable[str],
    project_now: Callable[[Repository], str | None],
) -> dict[str, str]:
    """The projects with memories that a folder on this machine had and none has now, with that
    folder.
    """
    reached = {project_now(one) for one in known}
    last = {one.project: one.path for one in known}
    return {name: last[name] for name in projects if name in last and name not in reached}


def _strip_unprintable(text: str) -> str:
    return "".join(character for character in text if character.isprintable()).strip()
