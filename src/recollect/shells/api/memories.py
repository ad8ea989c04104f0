"""Remember, read, list, update, forget and link memories."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Response

from recollect.core.errors import Conflict
from recollect.core.memory.links import KINDS as LINK_KINDS
from recollect.core.memory.listing import Page
from recollect.core.memory.memory import Memory
from recollect.shells.api.context import Mine, Reference, needs
from recollect.shells.api.openapi import PREFIX, REFERRED, SENT, example, problems
from recollect.shells.asgi.problems import MALFORMED
from recollect.usecases.tasks import analyze_text
from recollect.wire.inputs import BatchIn, ChangesIn, DraftIn, ListIn
from recollect.wire.memory import (
    BATCH,
    FORGOTTEN,
    HISTORY,
    MEMORY,
    PAGE,
    WRITTEN,
    Batch,
    Forgotten,
    Written,
)
from recollect.wire.problems import KINDS

# Operations that take the id of a stored memory, for the documentation.
_OPENAPI_LINKS: Final = {
    operation: {"operationId": operation, "parameters": {"reference": "$response.body#/id"}}
    for operation in ("get_memory", "update_memory", "forget_memory")
}
_LINK_PROBLEMS: Final = problems(*SENT, *REFERRED, KINDS[Conflict])
_LINK_PATH: Final = "/memories/{reference}/links/{kind}/{target}"
LinkKind = Annotated[
    str,
    Path(
        description="How the memory relates to the target.",
        examples=["supersedes"],
        json_schema_extra={"enum": [*LINK_KINDS]},
    ),
]

router = APIRouter(prefix=PREFIX, tags=["Memories"])


@router.post(
    "/memories",
    operation_id="remember",
    **needs("remember"),
    summary="Remember",
    response_model=WRITTEN.shape,
    status_code=201,
    responses={
        200: example("memory", "The memory that already has this text."),
        201: {
            **example("memory", "The memory as stored."),
            "headers": {
                "Location": {
                    "description": "Where the memory can be read.",
                    "schema": {"type": "string"},
                }
            },
            "links": _OPENAPI_LINKS,
        },
        **problems(*SENT, MALFORMED, KINDS[Conflict]),
    },
)
async def remember(sent: DraftIn, mine: Mine, response: Response) -> Written:
    """Store a memory. Sending the same draft with the same id again returns the same memory; a
    different draft with that id is a conflict, and so is the same draft once the memory was changed
    or forgotten. A text that is already stored in its project is not stored twice: without an id,
    the answer is the stored memory (200), with the new tags, keywords and links added to it, and
    `already_remembered`; episodes are always stored. A text that looks like a credential makes the
    memory sensitive, unless `is_sensitive` says otherwise; the answer then has `sensitive_because`.
    """
    draft = sent.to_draft()
    memory = await mine.remember(draft)
    if memory.was_known:
        response.status_code = 200
    response.headers["Location"] = f"{PREFIX}/memories/{memory.id}"
    return await analyze_text(len(draft.content), Written.of_draft, memory, draft)


@router.post(
    "/memories:batch",
    operation_id="remember_many",
    **needs("remember_many"),
    summary="Remember many",
    response_model=BATCH.shape,
    responses={
        200: example("batch", "The outcome for each memory, in the order sent."),
        **problems(*SENT, MALFORMED),
    },
)
async def remember_many(sent: BatchIn, mine: Mine) -> Batch:
    """Store up to 500 memories, the new ones in one transaction. Each is checked separately: an
    invalid one is refused with a problem, and the others are stored. If the request itself fails,
    none is. Sending the same memories again answers `present`, with or without ids.
    """
    return Batch.of(await mine.remember_many(sent.to_batch()))


@router.get(
    "/memories",
    operation_id="list_memories",
    **needs("page"),
    summary="List",
    response_model=PAGE.shape,
    responses={200: example("page", "A page, newest first."), **problems(*SENT)},
)
async def list_memories(query: Annotated[ListIn, Query()], mine: Mine) -> Page:
    """List one page of the memories in a scope. Concurrent writes do not shift pages."""
    return await mine.page(query.to_scope(), query.cursor, query.limit)


@router.get(
    "/memories/{reference}",
    operation_id="get_memory",
    **needs("get"),
    summary="Read",
    response_model=MEMORY.shape,
    responses={200: example("memory", "The memory."), **problems(*SENT, *REFERRED)},
)
async def get_memory(reference: Reference, mine: Mine) -> Memory:
    """Return one memory, by its id or the end of it."""
    return await mine.get(reference)


@router.patch(
    "/memories/{reference}",
    operation_id="update_memory",
    **needs("update"),
    summary="Change",
    response_model=WRITTEN.shape,
    responses={
        200: example("memory", "The updated memory."),
        **problems(*SENT, MALFORMED, *REFERRED, KINDS[Conflict]),
    },
)
async def update_memory(reference: Reference, sent: ChangesIn, mine: Mine) -> Written:
    """Change the given fields. `based_on` prevents overwriting someone else's change. A new text
    that looks like a credential makes the memory sensitive, as for a new memory.
    """
    changes = sent.to_changes()
    memory = await mine.update(reference, changes, based_on=sent.based_on)
    return await analyze_text(len(memory.content), Written.of_changes, memory, changes)


@router.get(
    "/memories/{reference}/versions",
    operation_id="memory_history",
    **needs("history"),
    summary="History",
    response_model=HISTORY.shape,
    responses={200: example("history", "Its versions."), **problems(*SENT, *REFERRED)},
)
async def memory_history(reference: Reference, mine: Mine) -> list[Memory]:
    """List the versions of a memory, forgotten or not, newest first: the current one and up to 100
    former ones.
    """
    return await mine.history(reference)


@router.post(
    "/memories/{reference}/versions/{version}/restore",
    operation_id="restore_version",
    **needs("restore"),
    summary="Restore",
    response_model=MEMORY.shape,
    responses={
        200: example("memory", "The restored memory."),
        **problems(*SENT, *REFERRED, KINDS[Conflict]),
    },
)
async def restore_version(
    reference: Reference,
    version: Annotated[int, Path(ge=1, description="The version to restore.")],
    mine: Mine,
) -> Memory:
    """Give a memory the fields of a former version, as a new version. A sensitive memory stays
    sensitive; a forgotten one is no longer forgotten.
    """
    return await mine.restore(reference, version)


@router.delete(
    "/memories/{reference}",
    operation_id="forget_memory",
    **needs("forget"),
    summary="Forget",
    response_model=FORGOTTEN.shape,
    responses={
        200: example("forgotten", "The memory that was forgotten."),
        **problems(*SENT, *REFERRED, KINDS[Conflict]),
    },
)
async def forget_memory(
    reference: Reference,
    mine: Mine,
    *,
    forever: Annotated[
        bool,
        Query(description="Erase it permanently instead of hiding it from recall and listings."),
    ] = False,
) -> Forgotten:
    """Hide a memory, or erase it permanently, even if it was hidden before."""
    return Forgotten(await mine.forget(reference, forever=forever), forever)


@router.put(
    _LINK_PATH,
    operation_id="link_memory",
    **needs("link"),
    summary="Link",
    response_model=MEMORY.shape,
    responses={200: example("linked", "The memory with its links."), **_LINK_PROBLEMS},
)
async def link_memory(
    reference: Reference, kind: LinkKind, target: Reference, mine: Mine
) -> Memory:
    """Link a memory to one that it supersedes, is resolved by, is part of, or relates to. Repeating
    the request changes nothing.
    """
    return await mine.link(reference, kind, target)


@router.delete(
    _LINK_PATH,
    operation_id="unlink_memory",
    **needs("unlink"),
    summary="Remove a link",
    response_model=MEMORY.shape,
    responses={200: example("linked", "The memory with its links."), **_LINK_PROBLEMS},
)
async def unlink_memory(
    reference: Reference, kind: LinkKind, target: Reference, mine: Mine
) -> Memory:
    """Remove a link, even if its target no longer exists."""
    return await mine.unlink(reference, kind, target)
