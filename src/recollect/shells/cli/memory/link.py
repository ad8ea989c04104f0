"""The commands that link memories, and how links are shown."""

from __future__ import annotations

from typing import Annotated

from recollect.core.errors import NotFound
from recollect.core.memory.ids import short
from recollect.core.memory.links import KINDS, SUPERSEDES, Link
from recollect.core.memory.memory import Memory
from recollect.ports.service import Service
from recollect.shells.cli.framework.commands import Argument
from recollect.shells.cli.framework.options import AsJson
from recollect.shells.cli.framework.output import local_date, print_json, show
from recollect.shells.cli.framework.shell import ask

Id = Annotated[str, Argument(metavar="ID", help="The memory's id, or the end of it.")]
Kind = Annotated[str, Argument(metavar="KIND", help=f"Kind of link: {', '.join(KINDS)}.")]
Target = Annotated[str, Argument(metavar="TARGET", help="The other memory's id, or the end of it.")]


def link(id: Id, kind: Kind, target: Target, *, as_json: AsJson = False) -> None:
    """Link a memory to one that it supersedes, is resolved by, is part of, or relates to."""
    _report(ask(lambda recollect: recollect.link(id, kind, target)), as_json=as_json)


def unlink(id: Id, kind: Kind, target: Target, *, as_json: AsJson = False) -> None:
    """Remove a link, even if its target no longer exists."""
    _report(ask(lambda recollect: recollect.unlink(id, kind, target)), as_json=as_json)


async def describe_links(recollect: Service, memory: Memory) -> list[str]:
    """Describe each link, and mark missing targets."""
    return [
        f"{describe_link(link)}{'' if await _exists(recollect, link) else ' (missing)'}"
        for link in memory.links
    ]


async def describe_successor(recollect: Service, memory: Memory) -> str:
    """Describe which memory replaced this one in recall and, if they are linked, since when."""
    if memory.superseded_by is None:
        return ""
    link = Link(SUPERSEDES, memory.id)
    versions = await recollect.history(str(memory.superseded_by))
    linked = [version.updated_at for version in versions if link in version.links]
    on = f" on {local_date(min(linked))}" if linked else ""
    return f"{short(memory.superseded_by)}{on}"


def describe_link(link: Link) -> str:
    return f"{link.kind.replace('_', ' ')} {short(link.target)}"


async def _exists(recollect: Service, link: Link) -> bool:
    try:
        await recollect.get(str(link.target))
    except NotFound:
        return False
    return True


def _report(memory: Memory, *, as_json: bool) -> None:
    if as_json:
        from recollect.wire.memory import MEMORY

        print_json(MEMORY.encode(memory))
        return
    links = ", ".join(map(describe_link, memory.links)) or "no links"
    show(f"{short(memory.id)} (version {memory.version}): {links}")
