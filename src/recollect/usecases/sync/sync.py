"""Bring the local store and the server to the same state.

The two directions do not wait for each other: `push_all` sends local changes, `pull_all` reads the
server's. What the server returns goes through `core/sync/merge.py`, so their order does not matter,
and each can be interrupted at any point and restarted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recollect.core.errors import (
    Forbidden,
    InvalidInput,
    NotAllowed,
    NotFound,
    RecollectError,
    StoreBusy,
    StoreError,
)
from recollect.usecases.tasks import cancel_and_wait

if TYPE_CHECKING:
    from recollect.core.sync.model import Outgoing, Revision
    from recollect.ports.stores import Clock
    from recollect.ports.sync import SyncServer, SyncStore

# Writes per request: enough that the request's own cost does not matter, few enough that a page
# easily fits into memory.
PAGE = 200
# Merging may cause new writes, which may conflict with other writers again; more rounds than this
# are never needed.
_MAX_ROUNDS = 20

OnStep = Callable[[str, int, int | None], None]
"""Called after each step with its name, how many were processed, and how many are left if known."""


def silent(_what: str, _done: int, _left: int | None) -> None:
    return None


async def sync(
    local: SyncStore,
    server: SyncServer,
    clock: Clock,
    on_step: OnStep = silent,
    page_size: int = PAGE,
) -> None:
    """Sync both directions until nothing is left to send or to read. With a key that may not write,
    local changes stay here, and the status says why.
    """
    # Check that it is our server before anything is sent.
    await pull_page(local, server, silent, page_size=page_size)
    for _ in range(_MAX_ROUNDS):
        sent = await _run_both(
            _push_if_allowed(local, server, on_step, page_size),
            pull_all(local, server, on_step, page_size),
        )
        if isinstance(sent, Forbidden):
            await local.record_success(clock.now())
            await local.record_error(str(sent), sent.remedy, key_refused=False)
            return
        if sent == 0:
            await local.record_success(clock.now())
            return
    raise StoreError(
        "sync did not finish: other clients keep changing the same memories",
        remedy="Run `recollect sync` again in a moment; nothing is lost.",
    )


async def _push_if_allowed(
    local: SyncStore, server: SyncServer, on_step: OnStep, page_size: int
) -> int | Forbidden:
    try:
        return await push_all(local, server, on_step, page_size)
    except Forbidden as error:
        return error


async def _run_both(
    push: Coroutine[Any, Any, int | Forbidden], pull: Coroutine[Any, Any, None]
) -> int | Forbidden:
    """Run both concurrently; if one fails, the other is cancelled and the error is raised."""
    pushing, pulling = asyncio.create_task(push), asyncio.create_task(pull)
    try:
        await asyncio.gather(pushing, pulling)
    finally:
        await cancel_and_wait(pushing, pulling)
    return pushing.result()


async def push_all(
    local: SyncStore, server: SyncServer, on_step: OnStep = silent, page_size: int = PAGE
) -> int:
    """Send local changes, page by page; return how many were sent."""
    await _push_names(local, server)
    store = await local.store_id()
    sent = repeats = 0
    former: Sequence[UUID] = ()
    while True:
        items, revisions = await local.claim(page_size)
        if not items and not revisions:
            return sent
        ids = [*(item.id for item in items), *(revision.id for revision in revisions)]
        repeats = repeats + 1 if ids == former else 0
        if repeats == _MAX_ROUNDS:
            raise StoreError(
                "the server did not confirm every change that was sent",
                remedy="Upgrade Recollect on the older side; what waits is kept.",
            )
        former = ids
        await _push(local, server, store, items, revisions)
        sent += len(ids)
        on_step("pushed", len(ids), None)


async def _push_names(local: SyncStore, server: SyncServer) -> None:
    """Tell the server which projects were renamed, before their memories follow. One that does not
    know or allow it gets the memories alone, as changes like any other.
    """
    names = await local.unsent_names()
    try:
        for former, project in names.items():
            await server.rename_project(former, project)
    except (Forbidden, NotFound):
        return
    if names:
        await local.note_named(names)


async def _push(
    local: SyncStore,
    server: SyncServer,
    store: UUID,
    items: Sequence[Outgoing],
    revisions: Sequence[Revision],
) -> None:
    """Push in one request. If the server refuses it, push the halves separately, down to the write
    at fault: that one is parked, or stays here if it is a revision.
    """
    try:
        pushed = await server.push(store, items, revisions, await local.epoch())
    except InvalidInput as error:
        if error.field == "protocol":
            raise
        if len(items) + len(revisions) == 1:
            for item in items:
                await local.park(item, str(error), error.remedy)
            for revision in revisions:
                await local.keep_here(revision)
            return
        half, other = -(-len(items) // 2), len(revisions) // 2
        await _push(local, server, store, items[:half], revisions[:other])
        await _push(local, server, store, items[half:], revisions[other:])
        return
    if not await local.bind_to(pushed.peer):
        raise StoreBusy(
            "the server was restored from a backup",
            remedy="Run `recollect sync`: it compares everything again, and nothing is lost.",
        )
    await local.apply_push_result(items, revisions, pushed)


async def pull_all(
    local: SyncStore, server: SyncServer, on_step: OnStep = silent, page_size: int = PAGE
) -> None:
    """Read all changes, page by page; the first page also counts them."""
    is_counted = on_step is not silent
    while await pull_page(local, server, on_step, count=is_counted, page_size=page_size):
        is_counted = False


async def pull_page(
    local: SyncStore,
    server: SyncServer,
    on_step: OnStep,
    *,
    count: bool = False,
    page_size: int = PAGE,
) -> bool:
    """Read and apply one page; return whether there are more."""
    store, cursor = await local.store_id(), await local.cursor()
    page = await server.pull(store, cursor, page_size, count=count)
    is_same = await local.bind_to(page.peer)
    if page.is_reset or not is_same:
        await local.reset()
        return True
    await local.apply_page(page)
    if page.former_names is not None and not page.has_more:
        await local.follow_names(page.former_names)
    if page.settings is not None:
        await local.follow_settings(page.settings)
    on_step("pulled", len(page.memories) + len(page.revisions), page.remaining)
    return page.has_more


async def record_error(local: SyncStore, error: RecollectError) -> bool:
    """Record why sync fails; return False if that was already known."""
    refused = isinstance(error, NotAllowed)
    return await local.record_error(str(error), error.remedy, key_refused=refused)
