"""The use cases bound to one owner: what a shell holds when no other machine is asked.

Each use case is imported when it is first called: a command calls one of them, and would spend more
time importing the others than on its own work.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from recollect.core.admin.stats import CurationCounts, Stats
    from recollect.core.curation.proposals import JournalEntry, Proposal, Survivor, Verdict
    from recollect.core.memory.batch import BatchItem, Remembered
    from recollect.core.memory.memory import Changes, Draft, Memory, Scope
    from recollect.core.memory.paging import Page
    from recollect.core.recall.explain import WhyReport
    from recollect.core.recall.request import RecallRequest, Recollection
    from recollect.core.recall.settings import RecallSettings, SettingChange
    from recollect.core.sync.model import ConflictReport, Keep
    from recollect.usecases.context import Context


@dataclass(frozen=True, slots=True)
class LocalService:
    """Implements the `Service` port on this machine's store; `on_recall` is called with each
    answer.
    """

    context: Context
    owner: str
    on_recall: Callable[[Recollection], None] = lambda _: None

    async def remember(self, draft: Draft) -> Memory:
        from recollect.usecases.memory.remember import remember

        with self.context.callers.answering():
            return await remember(self.context, self.owner, draft)

    async def remember_many(self, batch: Sequence[BatchItem]) -> list[Remembered]:
        from recollect.usecases.memory.remember import remember_many

        with self.context.callers.answering():
            return await remember_many(self.context, self.owner, batch)

    async def recall(self, request: RecallRequest) -> Recollection:
        from recollect.usecases.recall.recall import recall

        with self.context.callers.answering(), self.context.recalling():
            recollection = await recall(self.context, self.owner, request)
        self.on_recall(recollection)
        return recollection

    async def why(self, reference: str, request: RecallRequest) -> WhyReport:
        from recollect.usecases.recall.why import why

        return await why(self.context, self.owner, reference, request)

    async def get(self, reference: str) -> Memory:
        from recollect.usecases.memory import find

        memory = await find.get(self.context, self.owner, reference)
        (marked,) = await find.mark_superseded(self.context, self.owner, [memory])
        return marked

    async def short_ids(self, ids: Collection[UUID]) -> dict[UUID, str]:
        from recollect.usecases.memory import find

        return await find.short_ids(self.context, self.owner, ids)

    async def page(self, scope: Scope, cursor: str | None, limit: int) -> Page:
        from recollect.usecases.memory import find

        return await find.page(self.context, self.owner, scope, cursor, limit)

    async def update(
        self, reference: str, changes: Changes, *, based_on: int | None = None
    ) -> Memory:
        from recollect.usecases.memory.update import update

        with self.context.callers.answering():
            return await update(self.context, self.owner, reference, changes, based_on=based_on)

    async def link(self, reference: str, kind: str, target: str) -> Memory:
        from recollect.usecases.memory.link import link

        return await link(self.context, self.owner, reference, kind, target)

    async def unlink(self, reference: str, kind: str, target: str) -> Memory:
        from recollect.usecases.memory.link import unlink

        return await unlink(self.context, self.owner, reference, kind, target)

    async def history(self, reference: str) -> list[Memory]:
        from recollect.usecases.memory.history import history

        return await history(self.context, self.owner, reference)

    async def restore(self, reference: str, version: int) -> Memory:
        from recollect.usecases.memory.history import restore

        with self.context.callers.answering():
            return await restore(self.context, self.owner, reference, version)

    async def forget(self, reference: str, *, forever: bool = False) -> UUID:
        from recollect.usecases.memory.forget import forget

        return await forget(self.context, self.owner, reference, forever=forever)

    async def resolve_project(self, name: str, here: str | None = None) -> str:
        from recollect.core.memory.memory import checked_name
        from recollect.usecases.memory import projects

        named = checked_name(name, "project")
        return await projects.resolve_project(self.context.store, self.owner, named, here)

    async def stats(self) -> Stats:
        from recollect.usecases.memory import stats as count

        return await count.stats(self.context, self.owner)

    async def settings(self) -> RecallSettings:
        from recollect.usecases.admin import settings as tune

        return await tune.settings(self.context)

    async def change_settings(self, changes: Mapping[str, object]) -> RecallSettings:
        from recollect.usecases.admin import settings as tune

        return await tune.change_settings(self.context, self.owner, changes)

    async def settings_log(self, limit: int) -> list[SettingChange]:
        from recollect.usecases.admin import settings as tune

        return await tune.settings_log(self.context, limit)

    async def conflicts(self) -> list[ConflictReport]:
        from recollect.usecases.sync import conflicts

        return await conflicts.conflicts(self.context, self.owner)

    async def resolve(self, reference: str, keep: Keep) -> ConflictReport:
        from recollect.usecases.sync import conflicts

        return await conflicts.resolve(self.context, self.owner, reference, keep)

    async def proposals(self) -> list[Proposal]:
        from recollect.usecases.curation import review

        return await review.list_proposals(self.context, self.owner)

    async def accept_proposal(self, reference: str, keep: Survivor = "newer") -> JournalEntry:
        from recollect.usecases.curation import review

        return await review.accept(self.context, self.owner, reference, keep=keep, by=self.owner)

    async def decide_proposal(self, reference: str, verdict: Verdict) -> Proposal:
        from recollect.usecases.curation import review

        return await review.decide(self.context, self.owner, reference, verdict)

    async def curation_counts(self) -> CurationCounts | None:
        count = self.context.curation_counts
        return None if count is None else await count(self.owner)

    async def journal(self, limit: int = 20) -> list[JournalEntry]:
        from recollect.usecases.curation import review

        return await review.journal(self.context, self.owner, limit)

    async def undo(self, reference: str | None = None) -> JournalEntry:
        from recollect.usecases.curation import review

        return await review.undo(self.context, self.owner, reference)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedModelService(LocalService):
    """The same where one process of a home holds the model for all. A recall is asked of that
    process. If it does not answer, this one recalls by words, or when it `loads_model`, with what
    `open_model` loads; a `why` always does.
    """

    ask_resident: Callable[[RecallRequest], Awaitable[Recollection | None]]
    open_model: Callable[[], AbstractAsyncContextManager[Context]]
    loads_model: bool = False

    async def recall(self, request: RecallRequest) -> Recollection:
        answer = await self.ask_resident(request)
        if answer is not None:
            self.on_recall(answer)
            return answer
        if not self.loads_model:
            return await LocalService.recall(self, request)
        async with self.open_model() as context:
            return await LocalService(context, self.owner, self.on_recall).recall(request)

    async def why(self, reference: str, request: RecallRequest) -> WhyReport:
        async with self.open_model() as context:
            return await LocalService(context, self.owner).why(reference, request)
