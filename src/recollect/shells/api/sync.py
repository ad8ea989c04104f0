"""The sync of local stores: push writes, pull changes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from recollect.core.sync.model import ChangePage, Pushed, check_protocol
from recollect.shells.api.context import TheKey, TheServer, needs
from recollect.shells.api.openapi import PREFIX, SENT, example, problems
from recollect.shells.asgi.problems import MALFORMED
from recollect.usecases.sync.server import check_push_size, pull, push
from recollect.wire import sync as wire
from recollect.wire.sync import PullIn, PushIn

router = APIRouter(prefix=PREFIX, tags=["Sync"])


@router.post(
    "/sync/push",
    operation_id="sync_push",
    **needs("push"),
    summary="Push",
    response_model=wire.PUSHED.shape,
    responses={
        200: example("pushed", "An answer for each write."),
        **problems(*SENT, MALFORMED),
    },
)
async def sync_push(sent: PushIn, server: TheServer, key: TheKey) -> Pushed:
    """Apply each write that is based on the current version, and answer each with the current
    state. Sending the same push again has no further effect. A write that can never be accepted is
    refused with the reason; the others are applied.
    """
    check_protocol(sent.protocol, by="client")
    check_push_size(len(sent.memories), len(sent.revisions))  # refused writes are not counted
    mine = server.for_key(key, "sync")
    return await push(
        mine.context_for("push", writes=len(sent.memories) + len(sent.revisions)),
        server.changes_for(key),
        mine.owner,
        sent.store,
        [memory.to_outgoing() for memory in sent.memories],
        [revision.to_revision() for revision in sent.revisions],
        sensitive=sent.sensitive,
        epoch=sent.epoch,
    )


@router.get(
    "/sync/pull",
    operation_id="sync_pull",
    **needs("pull"),
    summary="Pull",
    response_model=wire.CHANGES.shape,
    responses={200: example("changes", "A page of changes."), **problems(*SENT)},
)
async def sync_pull(
    query: Annotated[PullIn, Query()], server: TheServer, key: TheKey
) -> ChangePage:
    """Return the changes after a cursor, including erased and forgotten memories. No change is ever
    skipped, however long its transaction took. Sensitive memories come without text unless
    requested.
    """
    check_protocol(query.protocol, by="client")
    mine = server.for_key(key, "sync")
    return await pull(
        mine.context_for("pull"),
        server.changes_for(key),
        mine.owner,
        query.store,
        query.cursor,
        query.limit,
        sensitive=query.sensitive,
        count=query.count,
    )
