"""A local store with a server behind it: writes land here and answer at once, recall asks the
server while it answers in time.

The server does not know everything: what waits to be sent, and sensitive memories, are here alone.
They take part in every recall by their words, and what was forgotten here is not shown because the
server has not heard of it yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar
from uuid import UUID

from recollect.core.errors import InvalidInput, NotAllowed, NotFound, StoreError
from recollect.core.explain import WhyReport
from recollect.core.memory import Changes, Draft, Memory, Scope, Stats
from recollect.core.paging import Page
from recollect.core.recall import Hit, LegReport, RecallRequest, Recollection, SortBy
from recollect.core.recall_settings import RecallSettings, SettingChange
from recollect.core.sync import ConflictReport, Keep, SyncStatus
from recollect.ports import MemoryStore, Recollect, SyncStore
from recollect.usecases.follow import follow
from recollect.usecases.tasks import give_up

T = TypeVar("T")
# Of the deadline of a recall, what the server may use: the rest is for putting both together.
_SHARE_FOR_SERVER = 0.8


@dataclass(frozen=True, slots=True)
class CachedRecollect:
    """Implements the `Recollect` port. `wake` tells the engine that something was written."""

    local: Recollect
    remote: Recollect
    store: MemoryStore
    owner: str
    sync: SyncStore
    wake: Callable[[], None] = lambda: None

    async def remember(self, draft: Draft) -> Memory:
        memory = await self.local.remember(draft)
        self.wake()
        return memory

    async def recall(self, request: RecallRequest) -> Recollection:
        request = request.checked()
        here = asyncio.create_task(self.local.recall(request))
        try:
            if request.must_stay:
                return _local_answer(await here, "a sensitive query stays on this machine")
            seconds = (await self.local.settings()).deadline_ms / 1000
            try:
                async with asyncio.timeout(seconds * _SHARE_FOR_SERVER):
                    there = await self.remote.recall(request)
            except TimeoutError:
                return _local_answer(await here, "the server did not answer in time", late=True)
            except (StoreError, NotAllowed) as error:
                return _local_answer(await here, str(error))
            return await self._together(request, there, await here)
        finally:
            give_up(here)

    async def _together(
        self, request: RecallRequest, there: Recollection, here: Recollection
    ) -> Recollection:
        """The server's hits, as far as they are still true here, and those it cannot know."""
        own = await self.sync.unsent_ids()
        known = await self.store.fetch(self.owner, [hit.memory.id for hit in there.hits])
        hits = [
            replace(
                hit,
                memory=known.memories.get(hit.memory.id, hit.memory),
                attached=tuple(one for one in hit.attached if one.id not in own),
            )
            for hit in there.hits
            if hit.memory.id not in own
        ]
        mine = [hit for hit in here.hits if hit.memory.id in own]
        woven = _woven(hits, mine, request.sort_by)
        # Links that the server has not heard of are followed here.
        shown = await follow(self.store, self.owner, request, woven, known.superseded)
        return replace(there, hits=tuple(shown[: request.limit]))

    async def why(self, reference: str, request: RecallRequest) -> WhyReport:
        try:
            async with asyncio.timeout((await self.local.settings()).deadline_ms / 1000):
                return await self.remote.why(reference, request)
        except (TimeoutError, StoreError, NotAllowed, NotFound, InvalidInput):
            return await self.local.why(reference, request)

    async def get(self, reference: str) -> Memory:
        try:
            return await self.local.get(reference)
        except NotFound as unknown:
            return await self._elsewhere(unknown, lambda: self.remote.get(reference))

    async def page(self, scope: Scope, cursor: str | None, limit: int) -> Page:
        return await self.local.page(scope, cursor, limit)

    async def update(
        self, reference: str, changes: Changes, *, based_on: int | None = None
    ) -> Memory:
        try:
            memory = await self.local.update(reference, changes, based_on=based_on)
        except NotFound as unknown:
            return await self._elsewhere(
                unknown, lambda: self.remote.update(reference, changes, based_on=based_on)
            )
        self.wake()
        return memory

    async def link(self, reference: str, kind: str, target: str) -> Memory:
        try:
            memory = await self.local.link(reference, kind, target)
        except NotFound as unknown:
            return await self._elsewhere(unknown, lambda: self.remote.link(reference, kind, target))
        self.wake()
        return memory

    async def unlink(self, reference: str, kind: str, target: str) -> Memory:
        try:
            memory = await self.local.unlink(reference, kind, target)
        except NotFound as unknown:
            return await self._elsewhere(
                unknown, lambda: self.remote.unlink(reference, kind, target)
            )
        self.wake()
        return memory

    async def forget(self, reference: str, *, forever: bool = False) -> UUID:
        try:
            id = await self.local.forget(reference, forever=forever)
        except NotFound as unknown:
            return await self._elsewhere(
                unknown, lambda: self.remote.forget(reference, forever=forever)
            )
        self.wake()
        return id

    async def stats(self) -> Stats:
        return await self.local.stats()

    async def settings(self) -> RecallSettings:
        return await self.remote.settings()

    async def change_settings(self, changes: Mapping[str, object]) -> RecallSettings:
        return await self.remote.change_settings(changes)

    async def settings_log(self, limit: int) -> list[SettingChange]:
        return await self.remote.settings_log(limit)

    async def conflicts(self) -> list[ConflictReport]:
        return await self.local.conflicts()

    async def resolve(self, reference: str, keep: Keep) -> ConflictReport:
        report = await self.local.resolve(reference, keep)
        self.wake()
        return report

    async def status(self) -> SyncStatus:
        return await self.sync.status()

    async def _elsewhere(self, unknown: NotFound, ask: Callable[[], Awaitable[T]]) -> T:
        """What was not pulled yet may be on the server; without it, it is not found."""
        try:
            return await ask()
        except (StoreError, NotAllowed) as error:
            raise unknown from error


def _woven(theirs: Sequence[Hit], mine: Sequence[Hit], sort_by: SortBy) -> list[Hit]:
    """Each hit of this store before the first of the server's that it beats. The server's keep
    their order, which a second stage may have made.
    """
    woven = list(theirs)
    for hit in mine:
        worth = _worth(hit, sort_by)
        beaten = (place for place, one in enumerate(woven) if _worth(one, sort_by) < worth)
        woven.insert(next(beaten, len(woven)), hit)
    return woven


def _worth(hit: Hit, sort_by: SortBy) -> tuple[float, ...]:
    if sort_by == "recency":
        return (hit.memory.created_at.timestamp(),)
    return (hit.memory.importance, hit.score) if sort_by == "importance" else (hit.score,)


def _local_answer(here: Recollection, why: str, *, late: bool = False) -> Recollection:
    """What the local store found by words, with the legs of the server named as missing."""
    missing = LegReport("late" if late else "failed", 1.0, note=why)
    legs = {**here.legs, "dense": replace(missing, weight=here.legs["dense"].weight)}
    note = f"answered by the local store, by words alone: {why}"
    return replace(here, legs=legs, note=note)
