"""The use cases as a key allows them: by its role and its project.

Every way into a server goes through here, so that a read-only key cannot write through any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from recollect.core.admin.stats import CurationCounts, Stats
from recollect.core.curation.proposals import JournalEntry, Proposal, Survivor, Verdict
from recollect.core.errors import Forbidden, InvalidInput
from recollect.core.memory.batch import BatchItem, Remembered, check_batch_size
from recollect.core.memory.memory import Changes, Draft, Memory, Scope
from recollect.core.memory.paging import Page
from recollect.core.memory.project import names
from recollect.core.privacy.keys import Key, check_role
from recollect.core.recall.explain import WhyReport
from recollect.core.recall.request import RecallRequest, Recollection
from recollect.core.recall.settings import RecallSettings, SettingChange
from recollect.core.sync.model import ConflictReport, Keep
from recollect.ports.service import Service
from recollect.usecases.admin.within_project import outside, scope_within


@dataclass(frozen=True, slots=True)
class KeyedService:
    """Implements the `Service` port within the limits of a key. `mine` is the owner's service, or
    that of the key's project.
    """

    mine: Service
    key: Key
    spend_writes: Callable[[int], None] = lambda _count: None

    async def remember(self, draft: Draft) -> Memory:
        self._write()
        return await self.mine.remember(replace(draft, project=self._project(draft.project)))

    async def remember_many(self, batch: Sequence[BatchItem]) -> list[Remembered]:
        check_role(self.key, "member")
        check_batch_size(batch)  # refused memories are not counted
        self.spend_writes(len(batch))
        return await self.mine.remember_many([self._inside(item) for item in batch])

    async def recall(self, request: RecallRequest) -> Recollection:
        return await self.mine.recall(self._within(request))

    async def why(self, reference: str, request: RecallRequest) -> WhyReport:
        return await self.mine.why(reference, self._within(request))

    async def get(self, reference: str) -> Memory:
        return await self.mine.get(reference)

    async def short_ids(self, ids: Collection[UUID]) -> dict[UUID, str]:
        return await self.mine.short_ids(ids)

    async def page(self, scope: Scope, cursor: str | None, limit: int) -> Page:
        return await self.mine.page(self._scope(scope), cursor, limit)

    async def update(
        self, reference: str, changes: Changes, *, based_on: int | None = None
    ) -> Memory:
        self._write()
        if "project" in changes and self.key.project is not None:
            await self.mine.get(reference)  # what is outside is not found, whatever is changed
            if not names(changes["project"] or "", self.key.project):
                raise outside(self.key.project)
            changes = {**changes, "project": self.key.project}
        return await self.mine.update(reference, changes, based_on=based_on)

    async def link(self, reference: str, kind: str, target: str) -> Memory:
        self._write()
        return await self.mine.link(reference, kind, target)

    async def unlink(self, reference: str, kind: str, target: str) -> Memory:
        self._write()
        return await self.mine.unlink(reference, kind, target)

    async def history(self, reference: str) -> list[Memory]:
        return await self.mine.history(reference)

    async def restore(self, reference: str, version: int) -> Memory:
        self._write()
        return await self.mine.restore(reference, version)

    async def forget(self, reference: str, *, forever: bool = False) -> UUID:
        self._write()
        return await self.mine.forget(reference, forever=forever)

    async def resolve_project(self, name: str, here: str | None = None) -> str:
        return await self.mine.resolve_project(name, here)

    async def stats(self) -> Stats:
        return await self.mine.stats()

    async def settings(self) -> RecallSettings:
        return await self.mine.settings()

    async def change_settings(self, changes: Mapping[str, object]) -> RecallSettings:
        check_role(self.key, "admin")
        return await self.mine.change_settings(changes)

    async def settings_log(self, limit: int) -> list[SettingChange]:
        return await self.mine.settings_log(limit)

    async def conflicts(self) -> list[ConflictReport]:
        return await self.mine.conflicts()

    async def resolve(self, reference: str, keep: Keep) -> ConflictReport:
        self._write()
        return await self.mine.resolve(reference, keep)

    async def proposals(self) -> list[Proposal]:
        return await self.mine.proposals()

    async def accept_proposal(self, reference: str, keep: Survivor = "newer") -> JournalEntry:
        self._write()
        return await self.mine.accept_proposal(reference, keep)

    async def decide_proposal(self, reference: str, verdict: Verdict) -> Proposal:
        self._write()
        return await self.mine.decide_proposal(reference, verdict)

    async def curation_counts(self) -> CurationCounts | None:
        return await self.mine.curation_counts()

    async def journal(self, limit: int = 20) -> list[JournalEntry]:
        return await self.mine.journal(limit)

    async def undo(self, reference: str | None = None) -> JournalEntry:
        self._write()
        return await self.mine.undo(reference)

    def _write(self) -> None:
        """Forbidden for a read-only key, RateLimited for one that writes too often."""
        check_role(self.key, "member")
        self.spend_writes(1)

    def _inside(self, item: BatchItem) -> BatchItem:
        if isinstance(item, InvalidInput):
            return item
        try:
            return replace(item, project=self._project(item.project))
        except Forbidden as error:
            return InvalidInput(str(error), field="project", remedy=error.remedy)

    def _within(self, request: RecallRequest) -> RecallRequest:
        return replace(request, scope=self._scope(request.scope))

    def _scope(self, scope: Scope) -> Scope:
        return scope if self.key.project is None else scope_within(scope, self.key.project)

    def _project(self, named: str | None) -> str | None:
        """Where a new memory goes: into the key's project unless another one is named."""
        project = self.key.project
        if project is None or not (named or "").strip():
            return project or named
        if not names(named or "", project):
            raise outside(project)
        return project
