"""A local store with a server behind it: writes go to the local store and return at once, recalls
go to the server as long as it answers in time.

The server does not have everything: unsent changes and sensitive memories exist only locally. They
take part in every recall by their words, and a memory forgotten locally is not shown even if the
server still has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar
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
from recollect.core.memory.ids import IdPart
from recollect.core.memory.listing import join_pages
from recollect.core.recall.context import Deadline
from recollect.core.recall.decisions import are_weak
from recollect.core.recall.offline import mark_local_answer, mark_local_report
from recollect.ports.service import Service
from recollect.usecases.recall.steps import BothAnswers, Now, begin, merge_answers
from recollect.usecases.tasks import cancel

if TYPE_CHECKING:
    from recollect.core.memory.listing import Page
    from recollect.core.memory.memory import Scope
    from recollect.core.recall.context import RecallContext
    from recollect.core.recall.explain import WhyReport
    from recollect.core.recall.request import Hit, LegStatus, RecallRequest, Recollection
    from recollect.core.recall.settings import RecallSettings
    from recollect.core.sync.model import SyncStatus
    from recollect.ports.stores import Clock, MemoryStore
    from recollect.ports.sync import SyncStore

P = ParamSpec("P")
T = TypeVar("T")
Side = Literal["local", "remote", "either", "synced"]
_SENSITIVE_QUERY = "a sensitive query stays on this machine"


def _ask(
    side: Side, operation: Callable[Concatenate[Service, P], Awaitable[T]], *, wakes: bool = False
) -> Callable[Concatenate[OfflineFirstService, P], Coroutine[Any, Any, T]]:
    """Return an operation of the `Service` port that runs on one side. `either` asks the server if
    the local store does not have the memory, which may not be pulled yet; `synced` asks the server
    until the local store has been synced once. `wakes` notifies the engine of a change.
    """

    @wraps(operation)
    async def ask(self: OfflineFirstService, /, *args: P.args, **kwargs: P.kwargs) -> T:
        def ask_of(service: Service) -> Awaitable[T]:
            asked: Awaitable[T] = getattr(service, operation.__name__)(*args, **kwargs)
            return asked

        if side == "synced" and await self._is_new():
            with suppress(StoreError, NotAllowed):  # what is here is better than nothing
                return await ask_of(self.remote)
        try:
            answer = await ask_of(self.remote if side == "remote" else self.local)
        except NotFound as unknown:
            if side != "either":
                raise
            try:
                answer = await ask_of(self.remote)
            except (StoreError, NotAllowed) as error:
                raise unknown from error
        if wakes:
            self.wake()
        return answer

    return ask


@dataclass(frozen=True, slots=True)
class OfflineFirstService:
    """Implements the `Service` port. `wake` notifies the engine of a write. The server may receive
    sensitive queries if it `is_here`, on this machine. `offline` answers if the server does not: it
    is the local store too, with a model of its own if needed.
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

    async def recall(self, request: RecallRequest) -> Recollection:
        recollection = await self._recall_both(request)
        self.on_recall(recollection)
        return recollection

    async def _recall_both(self, request: RecallRequest) -> Recollection:
        request = await self._resolve_project(request)
        here = asyncio.create_task(self.local.recall(request))
        try:
            if self._must_stay(request):
                return mark_local_answer(
                    await self._ask_offline(here, request), request, "skipped", _SENSITIVE_QUERY
                )
            settings = await self.local.settings()
            clock = asyncio.get_running_loop().time
            deadline = Deadline(clock(), settings.deadline_ms / 1000, clock)
            now = Now(self.clock.now(), deadline)
            asked = await begin(self.store, self.owner, request, settings, now)
            # Read before asking the server: a memory sent while it searches would be missing.
            unsent = await self.sync.unsent_ids()
            try:
                async with asyncio.timeout(deadline.seconds + self.timeouts.network):
                    there = await self.remote.recall(request)
            except TimeoutError:
                return await self._answer_locally(here, request, "late", _late_error())
            except (StoreError, NotAllowed) as error:
                return await self._answer_locally(here, request, "failed", error)
            return await self._merge_both(asked, there, here, unsent)
        finally:
            cancel(here)

    async def _answer_locally(
        self,
        here: asyncio.Task[Recollection],
        request: RecallRequest,
        status: LegStatus,
        error: RecollectError,
    ) -> Recollection:
        """Answer from the local store because the server could not."""
        try:
            answer = await self._ask_offline(here, request)
        except InvalidInput:  # only the server has a leg that the request allows
            raise error from None
        return mark_local_answer(answer, request, status, str(error))

    async def _ask_offline(
        self, here: asyncio.Task[Recollection], request: RecallRequest
    ) -> Recollection:
        return await (here if self.offline is None else self.offline.recall(request))

    async def _resolve_project(self, request: RecallRequest) -> RecallRequest:
        """Make both sides use the same project, even if only one of them knows it."""
        name = request.scope.project
        project = None if name is None else await self.resolve_project(name)
        if project == name:
            return request
        return replace(request, scope=replace(request.scope, project=project))

    def _must_stay(self, request: RecallRequest) -> bool:
        return request.must_stay and not self.is_here

    async def _merge_both(
        self,
        asked: RecallContext,
        there: Recollection,
        here: asyncio.Task[Recollection],
        unsent: Collection[UUID],
    ) -> Recollection:
        """Merge the server's answer with the local one."""
        found_here, note = await _read_local_answer(here)
        answers = BothAnswers(there.hits, found_here, {*unsent, *await self.sync.unsent_ids()})
        hits = await merge_answers(asked, self.store, answers)
        is_weak = there.is_weak and are_weak(asked.request.query, hits)
        return replace(there, hits=tuple(hits), note=note or there.note, is_weak=is_weak)

    async def page(self, scope: Scope, cursor: str | None, limit: int) -> Page:
        """From the local store, which has everything once it was synced. Until then, what is here
        and what is on the server, in one order; the error of a server that does not answer is
        raised rather than an empty page returned.
        """
        if not await self._is_new():
            return await self.local.page(scope, cursor, limit)
        if scope.project is not None:
            scope = replace(scope, project=await self.resolve_project(scope.project))
        here = await self.local.page(scope, cursor, limit)
        try:
            there = await self.remote.page(scope, cursor, limit)
        except (StoreError, NotAllowed):
            if here.memories:
                return here
            raise
        return join_pages(here, there, limit)

    async def _is_new(self) -> bool:
        """Whether this store has never been synced: the server has memories that it lacks."""
        return (await self.sync.status()).last_sync_at is None

    async def why(self, reference: str, request: RecallRequest) -> WhyReport:
        request = await self._resolve_project(request)
        part = IdPart.parse(reference)
        status: LegStatus = "failed"
        if self._must_stay(request):
            status, because = "skipped", _SENSITIVE_QUERY
        elif part.select(await self.sync.unsent_ids()):
            status, because = "absent", "the server does not have it as it is here"
        else:
            try:
                async with asyncio.timeout(self.timeouts.remote_why):
                    return await self.remote.why(reference, request)
            except TimeoutError:
                status, because = "late", str(_late_error())
            except NotFound:
                status, because = "absent", "the server does not have it"
            except (StoreError, NotAllowed) as error:
                because = str(error)
        report = await (self.offline or self.local).why(reference, request)
        return mark_local_report(report, request, status, because)

    async def settings(self) -> RecallSettings:
        return await self._follow(await self.remote.settings())

    async def change_settings(self, changes: Mapping[str, object]) -> RecallSettings:
        return await self._follow(await self.remote.change_settings(changes))

    async def _follow(self, settings: RecallSettings) -> RecallSettings:
        """Apply the settings locally. If that fails now, the next sync brings them."""
        with suppress(StoreError):
            await self.sync.follow_settings(settings.as_dict())
        return settings

    async def status(self) -> SyncStatus:
        return await self.sync.status()

    remember = _ask("local", Service.remember, wakes=True)
    remember_many = _ask("local", Service.remember_many, wakes=True)
    short_ids = _ask("synced", Service.short_ids)
    resolve_project = _ask("synced", Service.resolve_project)
    rename_project = _ask("local", Service.rename_project, wakes=True)
    stats = _ask("synced", Service.stats)
    conflicts = _ask("local", Service.conflicts)
    resolve = _ask("local", Service.resolve, wakes=True)
    curation_counts = _ask("local", Service.curation_counts)

    get = _ask("either", Service.get)
    # The history that this store knows: a sync brings other writers' result, not each step.
    history = _ask("either", Service.history)
    update = _ask("either", Service.update, wakes=True)
    link = _ask("either", Service.link, wakes=True)
    unlink = _ask("either", Service.unlink, wakes=True)
    restore = _ask("either", Service.restore, wakes=True)
    forget = _ask("either", Service.forget, wakes=True)

    settings_log = _ask("remote", Service.settings_log)
    # Proposals are made and decided where the memories are authoritative: on the server.
    proposals = _ask("remote", Service.proposals)
    accept_proposal = _ask("remote", Service.accept_proposal, wakes=True)
    decide_proposal = _ask("remote", Service.decide_proposal)
    journal = _ask("remote", Service.journal)
    undo = _ask("remote", Service.undo, wakes=True)


async def _read_local_answer(here: asyncio.Task[Recollection]) -> tuple[Sequence[Hit], str | None]:
    """Return the local hits to merge into a server's answer, and a note if they are missing. There
    are none if the request allows no leg that this store has.
    """
    try:
        return (await here).hits, None
    except InvalidInput:
        return (), None
    except StoreError as error:
        return (), f"without what only the local store has: {error}"


def _late_error() -> StoreUnavailable:
    return StoreUnavailable(
        "the server did not answer in time",
        remedy="Try again; if it stays slow, see `recollect doctor` on the server.",
    )
