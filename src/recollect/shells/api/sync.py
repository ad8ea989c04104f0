"""Sync as a local store uses it: push writes, pull changes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from recollect.core.sync.model import ChangePage, Pushed, check_protocol
from recollect.shells.api import examples
from recollect.shells.api.context import READ, WRITE, TheKey, TheServer
from recollect.shells.api.openapi import PREFIX, SENT, problems
from recollect.shells.api.sync_examples import CHANGES, PUSHED
from recollect.shells.asgi.problems import MALFORMED
from recollect.usecases.sync.pull import pull
from recollect.usecases.sync.push import check_push_size, push
from recollect.wire import sync as wire
from recollect.wire.sync import PullIn, PushIn

router = APIRouter(prefix=PREFIX, tags=["Sync"])


@router.post(
    "/sync/push",
    operation_id="sync_push",
    **WRITE,
    summary="Push",
    response_model=wire.PUSHED.shape,
    responses={
        200: examples.of(PUSHED, "An answer for each write."),
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
    server.spend_writes(key, len(sent.memories) + len(sent.revisions))
    return await push(
        server.context_for(key, "sync"),
        server.changes_for(key),
        key.owner,
        sent.store,
        [memory.to_outgoing() for memory in sent.memories],
        [revision.to_revision() for revision in sent.revisions],
        sensitive=sent.sensitive,
        epoch=sent.epoch,
    )


@router.get(
    "/sync/pull",
    operation_id="sync_pull",
    **READ,
    summary="Pull",
    response_model=wire.CHANGES.shape,
    responses={200: examples.of(CHANGES, "A page of changes."), **problems(*SENT)},
)
async def sync_pull(
    query: Annotated[PullIn, Query()], server: TheServer, key: TheKey
) -> ChangePage:
    """What changed after a cursor, including erased and forgotten memories. No change is ever
    skipped, however long its transaction took. Sensitive memories come without text unless
    requested.
    """
    check_protocol(query.protocol, by="client")
    return await pull(
        server.context_for(key),
        server.changes_for(key),
        key.owner,
        query.store,
        query.cursor,
        query.limit,
        sensitive=query.sensitive,
        count=query.count,
    )
