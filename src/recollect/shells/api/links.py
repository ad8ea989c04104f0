"""Link one memory to another, or remove a link."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path

from recollect.core.errors import Conflict
from recollect.core.memory.links import KINDS
from recollect.shells.api import examples
from recollect.shells.api.context import Mine, Reference, needs
from recollect.shells.api.openapi import PREFIX, REFERRED, SENT, problems
from recollect.wire.answers import MemoryOut
from recollect.wire.problems import KINDS as PROBLEMS

_PROBLEMS: Final = problems(*SENT, *REFERRED, PROBLEMS[Conflict])
_PATH: Final = "/memories/{reference}/links/{kind}/{target}"
Kind = Annotated[
    str,
    Path(
        description="How the memory relates to the target.",
        examples=["supersedes"],
        json_schema_extra={"enum": [*KINDS]},
    ),
]

router = APIRouter(prefix=PREFIX, tags=["Memories"])


@router.put(
    _PATH,
    operation_id="link_memory",
    **needs("link"),
    summary="Link",
    responses={200: examples.of("linked", "The memory with its links."), **_PROBLEMS},
)
async def link_memory(reference: Reference, kind: Kind, target: Reference, mine: Mine) -> MemoryOut:
    """Link a memory to one that it supersedes, is resolved by, is part of, or relates to. Repeating
    the request changes nothing.
    """
    return MemoryOut.from_memory(await mine.link(reference, kind, target))


@router.delete(
    _PATH,
    operation_id="unlink_memory",
    **needs("unlink"),
    summary="Remove a link",
    responses={200: examples.of("linked", "The memory with its links."), **_PROBLEMS},
)
async def unlink_memory(
    reference: Reference, kind: Kind, target: Reference, mine: Mine
) -> MemoryOut:
    """Remove a link, even if its target no longer exists."""
    return MemoryOut.from_memory(await mine.unlink(reference, kind, target))
