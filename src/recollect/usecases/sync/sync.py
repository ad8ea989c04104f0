"""Bring the local store and the server to the same state.

Two directions that do not wait for each other: `push_all` sends what waits here, `pull_all` reads
what changed there. What the server says goes through `core/sync/merge.py`, so their order does not
matter, and each can be interrupted anywhere and started again.
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

# One request carries so many writes: large enough that a request is not what costs, small enough
# that a page fits into memory many times.
PAGE = 200
# Merging may make new writes, which may meet other writers again; no one needs more rounds.
_ROUNDS = 20

OnStep = Callable[[str, int, int | None], None]
"""Called after each step: what is done, how much of it just now, and how much is left, if known."""


def silent(_what: str, _done: int, _left: int | None) -> None:
    return None


async def sync(
    local: SyncStore,
    server: SyncServer,
    clock: Clock,
    on_step: OnStep = silent,
    page_size: int = PAGE,
) -> None:
    """Both directions until nothing is left to send or to read. With a key that may not write,
    what waits stays here, and the status says why.
    """
    # Before anything is sent: is it our server?
    await pull_page(local, server, silent, page_size=page_size)
    for _ in range(_ROUNDS):
        sent = await _both(
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


async def _both(
    push: Coroutine[Any, Any, int | Forbidden], pull: Coroutine[Any, Any, None]
) -> int | Forbidden:
    """Side by side; when one fails the other ends, too, and the error is the failing one's."""
    pushing, pulling = asyncio.create_task(push), asyncio.create_task(pull)
    try:
        await asyncio.gather(pushing, pulling)
    finally:
        await cancel_and_wait(pushing, pulling)
    return pushing.result()


async def push_all(
    local: SyncStore, server: SyncServer, on_step: OnStep = silent, page_size: int = PAGE
) -> int:
    """Send what waits, page by page; how much was sent."""
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
        if repeats == _ROUNDS:
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
    """One request; where the whole of it is refused, smaller ones, down to the write that is at
    fault. That one is parked, or stays here if it is a revision, and the others go on.
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
    """Read changes to the last one, page by page; the first page also counts them."""
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
    """Take in one page; whether there are more."""
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
    """Keep why sync does not get on; False when that was known already."""
    refused = isinstance(error, NotAllowed)
    return await local.record_error(str(error), error.remedy, key_refused=refused)
