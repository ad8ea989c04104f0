"""A local store with a server behind it: writes land here and answer at once, recall asks the
server while it answers in time.

The server does not know everything: what waits to be sent, and sensitive memories, are here alone.
They take part in every recall by their words, and what was forgotten here is not shown because the
server does not know that yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from recollect.core.admin.timeouts import TIMEOUTS, Timeouts
from recollect.core.errors import (
    InvalidInput,
    NotAllowed,
    NotFound,
    RecollectError,
    StoreError,
    StoreUnavailable,
)
from recollect.core.memory.batch import BatchItem, Remembered
from recollect.core.memory.ids import IdPrefix
from recollect.core.recall.context import Deadline
from recollect.core.recall.decisions import are_weak
from recollect.core.recall.offline import mark_local_answer, mark_local_report
from recollect.usecases.recall.steps import BothAnswers, Now, begin, merge_answers
from recollect.usecases.tasks import cancel

if TYPE_CHECKING:
    from recollect.core.admin.stats import CurationCounts, Stats
    from recollect.core.curation.proposals import JournalEntry, Proposal, Survivor, Verdict
    from recollect.core.memory.memory import Changes, Draft, Memory, Scope
    from recollect.core.memory.paging import Page
    from recollect.core.recall.context import RecallContext
    from recollect.core.recall.explain import WhyReport
    from recollect.core.recall.request import Hit, LegStatus, RecallRequest, Recollection
    from recollect.core.recall.settings import RecallSettings, SettingChange
    from recollect.core.sync.model import ConflictReport, Keep, SyncStatus
    from recollect.ports.service import Service
    from recollect.ports.stores import Clock, MemoryStore
    from recollect.ports.sync import SyncStore

T = TypeVar("T")
_STAYS = "a sensitive query stays on this machine"


@dataclass(frozen=True, slots=True)
class OfflineFirstService:
    """Implements the `Service` port. `wake` notifies the engine of a write. A server
    that `is_here`, on this machine, may be asked sensitive queries, too. `offline` answers in the
    place of a server that does not: the `local` store as well, if need be with a model of its own.
    """

    local: Service
    remote: Service
    store: MemoryStore
    owner: str
    sync: SyncStore
    clock: Clock
    wake: Callable[[], None] = lambda: None
    on_recall: Callable[[Recollection], None] = lambda _: None
    is_here: bool = False
    timeouts: Timeouts = TIMEOUTS
    offline: Service | None = None

    async def remember(self, draft: Draft) -> Memory:
        memory = await self.local.remember(draft)
        self.wake()
        return memory

    async def remember_many(self, batch: Sequence[BatchItem]) -> list[Remembered]:
        results = await self.local.remember_many(batch)
        self.wake()
        return results

    async def recall(self, request: RecallRequest) -> Recollection:
        recollection = await self._recalled(request)
        self.on_recall(recollection)
        return recollection

    async def _recalled(self, request: RecallRequest) -> Recollection:
        request = await self._resolve_project(request)
        here = asyncio.create_task(self.local.recall(request))
        try:
            if self._must_stay(request):
                return mark_local_answer(
                    await self._offline(here, request), request, "skipped", _STAYS
                )
            settings = await self.local.settings()
            clock = asyncio.get_running_loop().time
            deadline = Deadline(clock(), settings.deadline_ms / 1000, clock)
            now = Now(self.clock.now(), deadline)
            asked = await begin(self.store, self.owner, request, settings, now)
            # Read before the server is asked: what is sent while it searches would be missing.
            unsent = await self.sync.unsent_ids()
            try:
                async with asyncio.timeout(deadline.seconds + self.timeouts.network):
                    there = await self.remote.recall(request)
            except TimeoutError:
                return await self._alone(here, request, "late", _late())
            except (StoreError, NotAllowed) as error:
                return await self._alone(here, request, "failed", error)
            return await self._together(asked, there, here, unsent)
        finally:
            cancel(here)

    async def _alone(
        self,
        here: asyncio.Task[Recollection],
        request: RecallRequest,
        status: LegStatus,
        error: RecollectError,
    ) -> Recollection:
        """The local store's answer in the place of the server's."""
        try:
            answer = await self._offline(here, request)
        except InvalidInput:  # only the server has a leg that was to be asked
            raise error from None
        return mark_local_answer(answer, request, status, str(error))

    async def _offline(
        self, here: asyncio.Task[Recollection], request: RecallRequest
    ) -> Recollection:
        return await (here if self.offline is None else self.offline.recall(request))

    async def _resolve_project(self, request: RecallRequest) -> RecallRequest:
        """Both sides are asked for the same project, also where only one of them knows it."""
        name = request.scope.project
        project = None if name is None else await self.resolve_project(name)
        if project == name:
            return request
        return replace(request, scope=replace(request.scope, project=project))

    def _must_stay(self, request: RecallRequest) -> bool:
        return request.must_stay and not self.is_here

    async def _together(
        self,
        asked: RecallContext,
        there: Recollection,
        here: asyncio.Task[Recollection],
        unsent: Collection[UUID],
    ) -> Recollection:
        """One answer from both."""
        found_here, note = await _found(here)
        answers = BothAnswers(there.hits, found_here, {*unsent, *await self.sync.unsent_ids()})
        hits = await merge_answers(asked, self.store, answers)
        is_weak = there.is_weak and are_weak(asked.request.query, hits)
        return replace(there, hits=tuple(hits), note=note or there.note, is_weak=is_weak)

    async def why(self, reference: str, request: RecallRequest) -> WhyReport:
        request = await self._resolve_project(request)
        prefix = IdPrefix.parse(reference)
        status: LegStatus = "failed"
        if self._must_stay(request):
            status, because = "skipped", _STAYS
        elif any(prefix.low <= id <= prefix.high for id in await self.sync.unsent_ids()):
            status, because = "absent", "the server does not have it as it is here"
        else:
            try:
                async with asyncio.timeout(self.timeouts.remote_why):
                    return await self.remote.why(reference, request)
            except TimeoutError:
                status, because = "late", str(_late())
            except NotFound:
                status, because = "absent", "the server does not have it"
            except (StoreError, NotAllowed) as error:
                because = str(error)
        report = await (self.offline or self.local).why(reference, request)
        return mark_local_report(report, request, status, because)

    async def get(self, reference: str) -> Memory:
        try:
            return await self.local.get(reference)
        except NotFound as unknown:
            return await self._elsewhere(unknown, lambda: self.remote.get(reference))

    async def short_ids(self, ids: Collection[UUID]) -> dict[UUID, str]:
        return await self.local.short_ids(ids)

    async def page(self, scope: Scope, cursor: str | None, limit: int) -> Page:
        return await self.local.page(scope, cursor, limit)

    async def update(
        self, reference: str, changes: Changes, *, based_on: int | None = None
    ) -> Memory:
        return await self._change(
            lambda service: service.update(reference, changes, based_on=based_on)
        )

    async def link(self, reference: str, kind: str, target: str) -> Memory:
        return await self._change(lambda service: service.link(reference, kind, target))

    async def unlink(self, reference: str, kind: str, target: str) -> Memory:
        return await self._change(lambda service: service.unlink(reference, kind, target))

    async def history(self, reference: str) -> list[Memory]:
        """As far as this store knows it: what others changed came with a sync, not each step."""
        try:
            return await self.local.history(reference)
        except NotFound as unknown:
            return await self._elsewhere(unknown, lambda: self.remote.history(reference))

    async def restore(self, reference: str, version: int) -> Memory:
        return await self._change(lambda service: service.restore(reference, version))

    async def forget(self, reference: str, *, forever: bool = False) -> UUID:
        return await self._change(lambda service: service.forget(reference, forever=forever))

    async def resolve_project(self, name: str, here: str | None = None) -> str:
        return await self.local.resolve_project(name, here)

    async def stats(self) -> Stats:
        return await self.local.stats()

    async def settings(self) -> RecallSettings:
        return await self._followed(await self.remote.settings())

    async def change_settings(self, changes: Mapping[str, object]) -> RecallSettings:
        return await self._followed(await self.remote.change_settings(changes))

    async def _followed(self, settings: RecallSettings) -> RecallSettings:
        """The next recall obeys here, too. What cannot be kept now comes with the next sync."""
        with suppress(StoreError):
            await self.sync.follow_settings(settings.as_dict())
        return settings

    async def settings_log(self, limit: int) -> list[SettingChange]:
        return await self.remote.settings_log(limit)

    async def conflicts(self) -> list[ConflictReport]:
        return await self.local.conflicts()

    async def resolve(self, reference: str, keep: Keep) -> ConflictReport:
        report = await self.local.resolve(reference, keep)
        self.wake()
        return report

    # Proposals are made and decided where the memories are authoritative: on the server.

    async def proposals(self) -> list[Proposal]:
        return await self.remote.proposals()

    async def accept_proposal(self, reference: str, keep: Survivor = "newer") -> JournalEntry:
        entry = await self.remote.accept_proposal(reference, keep)
        self.wake()
        return entry

    async def decide_proposal(self, reference: str, verdict: Verdict) -> Proposal:
        return await self.remote.decide_proposal(reference, verdict)

    async def curation_counts(self) -> CurationCounts | None:
        return await self.local.curation_counts()

    async def journal(self, limit: int = 20) -> list[JournalEntry]:
        return await self.remote.journal(limit)

    async def undo(self, reference: str | None = None) -> JournalEntry:
        entry = await self.remote.undo(reference)
        self.wake()
        return entry

    async def status(self) -> SyncStatus:
        return await self.sync.status()

    async def _change(self, change: Callable[[Service], Awaitable[T]]) -> T:
        """Change a memory here or, if this store does not have it, on the server."""
        try:
            changed = await change(self.local)
        except NotFound as unknown:
            changed = await self._elsewhere(unknown, lambda: change(self.remote))
        self.wake()
        return changed

    async def _elsewhere(self, unknown: NotFound, ask: Callable[[], Awaitable[T]]) -> T:
        """What was not pulled yet may be on the server; without it, it is not found."""
        try:
            return await ask()
        except (StoreError, NotAllowed) as error:
            raise unknown from error


async def _found(here: asyncio.Task[Recollection]) -> tuple[Sequence[Hit], str | None]:
    """What the local store found beside a server that has answered, and what to say of it. Where
    none of the store's own legs is to be asked, that is nothing.
    """
    try:
        return (await here).hits, None
    except InvalidInput:
        return (), None
    except StoreError as error:
        return (), f"without what only the local store has: {error}"


def _late() -> StoreUnavailable:
    return StoreUnavailable(
        "the server did not answer in time",
        remedy="Try again; if it stays slow, see `recollect doctor` on the server.",
    )
