"""The commands on links between memories, and how a memory's links are told."""

from __future__ import annotations

from typing import Annotated

from recollect.core.errors import NotFound
from recollect.core.memory.ids import short
from recollect.core.memory.links import KINDS, Link
from recollect.core.memory.memory import Memory
from recollect.ports.service import Service
from recollect.shells.cli.declared import Argument
from recollect.shells.cli.options import AsJson
from recollect.shells.cli.output import print_json, show
from recollect.shells.cli.shell import ask

Id = Annotated[str, Argument(metavar="ID", help="An id, or the beginning of one.")]
Kind = Annotated[str, Argument(metavar="KIND", help=f"One of: {', '.join(KINDS)}.")]
Target = Annotated[str, Argument(metavar="TARGET", help="The other memory, like ID.")]


def link(id: Id, kind: Kind, target: Target, *, as_json: AsJson = False) -> None:
    """Let a memory say of another: it supersedes it, is resolved by it, part of it, or see also."""
    _tell(ask(lambda recollect: recollect.link(id, kind, target)), as_json=as_json)


def unlink(id: Id, kind: Kind, target: Target, *, as_json: AsJson = False) -> None:
    """Take a link away; its target need not be there any more."""
    _tell(ask(lambda recollect: recollect.unlink(id, kind, target)), as_json=as_json)


async def told_links(recollect: Service, memory: Memory) -> list[str]:
    """Each link as a person reads it, and whether it leads to anything."""
    return [
        f"{named(link)}{'' if await _is_there(recollect, link) else ' (not here)'}"
        for link in memory.links
    ]


def named(link: Link) -> str:
    return f"{link.kind.replace('_', ' ')} {short(link.target)}"


async def _is_there(recollect: Service, link: Link) -> bool:
    try:
        await recollect.get(str(link.target))
    except NotFound:
        return False
    return True


def _tell(memory: Memory, *, as_json: bool) -> None:
    if as_json:
        from recollect.wire.answers import MemoryOut

        print_json(MemoryOut.from_memory(memory))
        return
    links = ", ".join(map(named, memory.links)) or "no links"
    show(f"{short(memory.id)} (version {memory.version}): {links}")
