"""Rename a project, or join it with another."""

from __future__ import annotations

from fastapi import APIRouter

from recollect.core.errors import Conflict, NotFound
from recollect.core.memory.project import Renamed
from recollect.shells.api.context import Mine, needs
from recollect.shells.api.openapi import PREFIX, SENT, example, problems
from recollect.shells.asgi.problems import MALFORMED
from recollect.wire.admin import RENAMED, RenameIn
from recollect.wire.problems import KINDS

router = APIRouter(prefix=PREFIX, tags=["Memories"])


@router.post(
    "/projects/rename",
    operation_id="rename_project",
    **needs("rename_project"),
    summary="Rename a project",
    response_model=RENAMED.shape,
    responses={
        200: example("renamed", "What came along."),
        **problems(*SENT, MALFORMED, KINDS[NotFound], KINDS[Conflict]),
    },
)
async def rename_project(sent: RenameIn, mine: Mine) -> Renamed:
    """Move all memories of a project to another name, as one change. The old name stays a name of
    the project, on every machine. Two projects that were joined cannot be told apart afterwards.
    """
    return await mine.rename_project(sent.project, sent.name, sent.into)
