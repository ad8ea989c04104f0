"""The commands for projects: which there are, and what they are called."""

from __future__ import annotations

import os
from typing import Annotated

from recollect.core.memory.project import Into, Renamed
from recollect.core.text.analysis import counted
from recollect.defaults import home_path
from recollect.ports.service import Service
from recollect.shells.cli.framework.commands import Argument, Group
from recollect.shells.cli.framework.options import AsJson
from recollect.shells.cli.framework.output import note, one_line, print_json, show
from recollect.shells.cli.framework.shell import ask

_Project = Annotated[str, Argument(metavar="PROJECT", help="The project; a short name is enough.")]

project_app = Group("List, rename and join projects.")


@project_app.default
@project_app.command("list")
def list_projects(*, as_json: AsJson = False) -> None:
    """List the projects with memories, and the folders on this machine and former names of each."""
    from recollect.wiring.project import folders_of_projects

    stats = ask(lambda recollect: recollect.stats())
    projects = sorted(stats.by_project.items())
    folders = folders_of_projects(home_path(os.environ), stats.former_names)
    former = {
        name: sorted(old for old, new in stats.former_names.items() if new == name)
        for name, _ in projects
    }
    if as_json:
        listed = {
            name: {
                "memories": count,
                "folders": folders.get(name, []),
                "former_names": former[name],
            }
            for name, count in projects
        }
        print_json({"projects": listed})
        return
    if not projects:
        note("no projects")
        return
    from recollect.shells.cli.render.tables import rows

    show(
        rows(
            {
                "project": one_line(name),
                "memories": count,
                "folders": one_line(", ".join(folders.get(name, []))),
                "former names": one_line(", ".join(former[name])),
            }
            for name, count in projects
        )
    )


@project_app.command("rename")
def rename(
    project: _Project,
    name: Annotated[str, Argument(metavar="NAME", help="The new name, in full.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Give a project another name. The old one keeps meaning it, on every machine."""
    _rename(project, name, "new", as_json=as_json)


@project_app.command("merge")
def merge(
    project: _Project,
    other: Annotated[str, Argument(metavar="OTHER", help="The project to move the memories to.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Move all memories of a project to another one. This cannot be undone."""
    _rename(project, other, "existing", as_json=as_json)


def _rename(project: str, name: str, into: Into, *, as_json: bool) -> None:
    async def rename_it(recollect: Service) -> Renamed:
        return await recollect.rename_project(project, name, into)

    done = ask(rename_it)
    if as_json:
        from recollect.wire.admin import RENAMED

        print_json(RENAMED.encode(done))
    else:
        memories = counted(done.memories, "memory")
        show(f"{memories} moved from {one_line(done.project)} to {one_line(done.name)}")
