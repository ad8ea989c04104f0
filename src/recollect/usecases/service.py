"""The use cases bound to one owner: what a shell uses when no other machine is involved.

Each use case is imported on its first call: a command calls one of them, and would spend more time
importing the others than on its own work.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from recollect.core.admin.stats import CurationCounts, Stats
    from recollect.core.curation.proposals import JournalEntry, Proposal, Survivor, Verdict
    from recollect.core.memory.batch import BatchItem, Remembered
    from recollect.core.memory.listing import Page
    from recollect.core.memory.memory import Changes, Draft, Memory, Scope
    from recollect.core.memory.project import Into, Renamed
    from recollect.core.recall.explain import WhyReport
    from recollect.core.recall.request import RecallRequest, Recollection
    from recollect.core.recall.settings import RecallSettings, SettingChange
    from recollect.core.sync.model import ConflictReport, Keep
    from recollect.usecases.admin.access import Access
    from recollect.usecases.context import Context


@dataclass(frozen=True, slots=True)
class LocalService:
    """Implements the `Service` port on this machine's store; `on_recall` is called with each
    answer.

    Without `access` it allows everything, as the owner; otherwise what the key may do. For a key
    that is limited to a project, the `context` contains nothing else (`context_within`).
    """

    context: Context
    owner: str
    on_recall: Callable[[Recollection], None] = lambda _: None
    access: Access | None = None

    def context_for(self, operation: str, writes: int | None = None) -> Context:
        """Return the context for an operation of `core/privacy/policy.py`; raise Forbidden or
        RateLimited if the key may not carry it out. `writes` is the number of writes, for
        operations where it varies.
        """
        if self.access is not None:
            self.access.check(operation, writes)
        return self.context

    async def remember(self, draft: Draft) -> Memory:
        from recollect.usecases.memory.remember import remember

        context = self.context_for("remember")
        if self.access is not None:
            draft = self.access.confine_draft(draft)
        with context.callers.answering():
            return await remember(context, self.owner, draft)

    async def remember_many(self, batch: Sequence[BatchItem]) -> list[Remembered]:
        from recollect.core.memory.batch import check_batch_size
        from recollect.usecases.memory.remember import remember_many

        check_batch_size(batch)  # refused memories are not counted
        context = self.context_for("remember_many", writes=len(batch))
        if self.access is not None:
            batch = [self.access.confine_item(item) for item in batch]
        with context.callers.answering():
            return await remember_many(context, self.owner, batch)

    async def recall(self, request: RecallRequest) -> Recollection:
        from recollect.usecases.recall.recall import recall

        context = self.context_for("recall")
        request = self._confine(request)
        await context.catch_up()
        with context.callers.answering(), context.recalling():
            recollection = await recall(context, self.owner, request)
        self.on_recall(recollection)
        return recollection

    async def why(self, reference: str, request: RecallRequest) -> WhyReport:
        from recollect.usecases.recall.why import why

        context = self.context_for("why")
        await context.catch_up()
        return await why(context, self.owner, reference, self._confine(request))

    async def get(self, reference: str) -> Memory:
        from recollect.usecases.memory import find

        context = self.context_for("get")
        memory = await find.get(context, self.owner, reference)
        (marked,) = await find.mark_superseded(context, self.owner, [memory])
        return marked

    async def short_ids(self, ids: Collection[UUID]) -> dict[UUID, str]:
        from recollect.usecases.memory import find

        return await find.short_ids(self.context_for("short_ids"), self.owner, ids)

    async def page(self, scope: Scope, cursor: str | None, limit: int) -> Page:
        from recollect.usecases.memory import find

        context = self.context_for("page")
        if self.access is not None:
            scope = self.access.confine_scope(scope)
        return await find.page(context, self.owner, scope, cursor, limit)

    async def update(
        self, reference: str, changes: Changes, *, based_on: int | None = None
    ) -> Memory:
        from recollect.usecases.memory import find
        from recollect.usecases.memory.change import update

        context = self.context_for("update")
        if self.access is not None and self.access.is_limited and "project" in changes:
            # A memory outside the key's project is not found, whatever the change.
            await find.get(context, self.owner, reference)
            changes = self.access.confine_changes(changes)
        with context.callers.answering():
            return await update(context, self.owner, reference, changes, based_on=based_on)

    async def link(self, reference: str, kind: str, target: str) -> Memory:
        from recollect.usecases.memory.change import link

        return await link(self.context_for("link"), self.owner, reference, kind, target)

    async def unlink(self, reference: str, kind: str, target: str) -> Memory:
        from recollect.usecases.memory.change import unlink

        return await unlink(self.context_for("unlink"), self.owner, reference, kind, target)

    async def history(self, reference: str) -> list[Memory]:
        from recollect.usecases.memory.change import history

        return await history(self.context_for("history"), self.owner, reference)

    async def restore(self, reference: str, version: int) -> Memory:
        from recollect.usecases.memory.change import restore

        context = self.context_for("restore")
        with context.callers.answering():
            return await restore(context, self.owner, reference, version)

    async def forget(self, reference: str, *, forever: bool = False) -> UUID:
        from recollect.usecases.memory.change import forget

        return await forget(self.context_for("forget"), self.owner, reference, forever=forever)

    async def resolve_project(self, name: str, here: str | None = None) -> str:
        from recollect.core.memory.memory import check_name
        from recollect.usecases.memory import projects

        store = self.context_for("resolve_project").store
        named = check_name(name, "project")
        return await projects.resolve_project(store, self.owner, named, here)

    async def rename_project(self, project: str, name: str, into: Into = "any") -> Renamed:
        from recollect.core.memory.memory import check_name
        from recollect.usecases.memory import projects

        context = self.context_for("rename_project")
        old, new = check_name(project, "project"), check_name(name, "name")
        return await projects.rename_project(context, self.owner, old, new, into)

    async def stats(self) -> Stats:
        from recollect.usecases.memory import stats as count

        return await count.stats(self.context_for("stats"), self.owner)

    async def settings(self) -> RecallSettings:
        from recollect.usecases.admin import settings as tune

        return await tune.settings(self.context_for("settings"))

    async def change_settings(self, changes: Mapping[str, object]) -> RecallSettings:
        from recollect.usecases.admin import settings as tune

        return await tune.change_settings(self.context_for("change_settings"), self.owner, changes)

    async def settings_log(self, limit: int) -> list[SettingChange]:
        from recollect.usecases.admin import settings as tune

        return await tune.settings_log(self.context_for("settings_log"), limit)

    async def conflicts(self) -> list[ConflictReport]:
        from recollect.usecases.sync import conflicts

        return await conflicts.conflicts(self.context_for("conflicts"), self.owner)

    async def resolve(self, reference: str, keep: Keep) -> ConflictReport:
        from recollect.usecases.sync import conflicts

        return await conflicts.resolve(self.context_for("resolve"), self.owner, reference, keep)

    async def proposals(self) -> list[Proposal]:
        from recollect.usecases.curation import review

        return await review.list_proposals(self.context_for("proposals"), self.owner)

    async def accept_proposal(self, reference: str, keep: Survivor = "newer") -> JournalEntry:
        from recollect.usecases.curation import review

        context = self.context_for("accept_proposal")
        return await review.accept(context, self.owner, reference, keep=keep, by=self.owner)

    async def decide_proposal(self, reference: str, verdict: Verdict) -> Proposal:
        from recollect.usecases.curation import review

        context = self.context_for("decide_proposal")
        return await review.decide(context, self.owner, reference, verdict)

    async def curation_counts(self) -> CurationCounts | None:
        count = self.context_for("curation_counts").curation_counts
        return None if count is None else await count(self.owner)

    async def journal(self, limit: int = 20) -> list[JournalEntry]:
        from recollect.usecases.curation import review

        return await review.journal(self.context_for("journal"), self.owner, limit)

    async def undo(self, reference: str | None = None) -> JournalEntry:
        from recollect.usecases.curation import review

        return await review.undo(self.context_for("undo"), self.owner, reference)

    def _confine(self, request: RecallRequest) -> RecallRequest:
        if self.access is None or not self.access.is_limited:
            return request
        return replace(request, scope=self.access.confine_scope(request.scope))


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedModelService(LocalService):
    """Like `LocalService`, where one process of a home loads the model for all others. A recall is
    sent to that process. If it does not answer, this process recalls by words, or with the model
    that `open_model` loads if it `loads_model`; a `why` always loads it.
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
