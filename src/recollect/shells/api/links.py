"""Link one memory to another, and take a link away."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path

from recollect.core.errors import Conflict
from recollect.core.memory.links import KINDS
from recollect.shells.api import examples
from recollect.shells.api.context import WRITE, Mine, Reference
from recollect.shells.api.openapi import PREFIX, REFERRED, SENT, problems
from recollect.wire.answers import MemoryOut
from recollect.wire.problems import KINDS as PROBLEMS

_PROBLEMS: Final = problems(*SENT, *REFERRED, PROBLEMS[Conflict])
_PATH: Final = "/memories/{reference}/links/{kind}/{target}"
Kind = Annotated[
    str,
    Path(
        description="What the memory says of the target.",
        examples=["supersedes"],
        json_schema_extra={"enum": [*KINDS]},
    ),
]

router = APIRouter(prefix=PREFIX, tags=["Memories"])


@router.put(
    _PATH,
    operation_id="link_memory",
    **WRITE,
    summary="Link",
    responses={200: examples.of(examples.LINKED, "The memory with its links."), **_PROBLEMS},
)
async def link_memory(reference: Reference, kind: Kind, target: Reference, mine: Mine) -> MemoryOut:
    """Let a memory say of another that it supersedes it, is resolved by it, is part of it or is
    worth reading beside it. Saying it again changes nothing.
    """
    return MemoryOut.from_memory(await mine.link(reference, kind, target))


@router.delete(
    _PATH,
    operation_id="unlink_memory",
    **WRITE,
    summary="Take a link away",
    responses={200: examples.of(examples.LINKED, "The memory with its links."), **_PROBLEMS},
)
async def unlink_memory(
    reference: Reference, kind: Kind, target: Reference, mine: Mine
) -> MemoryOut:
    """Take back what a memory says of another, which need not be there any more."""
    return MemoryOut.from_memory(await mine.unlink(reference, kind, target))
