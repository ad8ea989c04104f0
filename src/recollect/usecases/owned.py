"""The use cases bound to one owner: what a shell holds when no other machine is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from recollect.core.explain import WhyReport
from recollect.core.memory import Changes, Draft, Memory, Scope, Stats
from recollect.core.paging import Page
from recollect.core.recall import RecallRequest, Recollection
from recollect.core.recall_settings import RecallSettings, SettingChange
from recollect.core.sync import ConflictReport, Keep
from recollect.usecases import conflicts, count, find, tune
from recollect.usecases.forget import forget
from recollect.usecases.link import link, unlink
from recollect.usecases.parts import Parts
from recollect.usecases.recall import recall
from recollect.usecases.remember import remember
from recollect.usecases.update import update
from recollect.usecases.why import why


@dataclass(frozen=True, slots=True)
class OwnedRecollect:
    """Implements the `Recollect` port on this machine's store. `on_recall` is called with each
    answer, and `on_write` before each write, which it may refuse by raising.
    """

    parts: Parts
    owner: str
    on_recall: Callable[[Recollection], None] = lambda _: None
    on_write: Callable[[], None] = lambda: None

    async def remember(self, draft: Draft) -> Memory:
        self.on_write()
        with self.parts.callers.answering():
            return await remember(self.parts, self.owner, draft)

    async def recall(self, request: RecallRequest) -> Recollection:
        with self.parts.callers.answering():
            recollection = await recall(self.parts, self.owner, request)
        self.on_recall(recollection)
        return recollection

    async def why(self, reference: str, request: RecallRequest) -> WhyReport:
        return await why(self.parts, self.owner, reference, request)

    async def get(self, reference: str) -> Memory:
        return await find.get(self.parts, self.owner, reference)

    async def page(self, scope: Scope, cursor: str | None, limit: int) -> Page:
        return await find.page(self.parts, self.owner, scope, cursor, limit)

    async def update(
        self, reference: str, changes: Changes, *, based_on: int | None = None
    ) -> Memory:
        self.on_write()
        with self.parts.callers.answering():
            return await update(self.parts, self.owner, reference, changes, based_on=based_on)

    async def link(self, reference: str, kind: str, target: str) -> Memory:
        self.on_write()
        return await link(self.parts, self.owner, reference, kind, target)

    async def unlink(self, reference: str, kind: str, target: str) -> Memory:
        self.on_write()
        return await unlink(self.parts, self.owner, reference, kind, target)

    async def forget(self, reference: str, *, forever: bool = False) -> UUID:
        self.on_write()
        return await forget(self.parts, self.owner, reference, forever=forever)

    async def stats(self) -> Stats:
        return await count.stats(self.parts, self.owner)

    async def settings(self) -> RecallSettings:
        return await tune.settings(self.parts)

    async def change_settings(self, changes: Mapping[str, object]) -> RecallSettings:
        self.on_write()
        return await tune.change_settings(self.parts, self.owner, changes)

    async def settings_log(self, limit: int) -> list[SettingChange]:
        return await tune.settings_log(self.parts, limit)

    async def conflicts(self) -> list[ConflictReport]:
        return await conflicts.conflicts(self.parts, self.owner)

    async def resolve(self, reference: str, keep: Keep) -> ConflictReport:
        self.on_write()
        return await conflicts.resolve(self.parts, self.owner, reference, keep)
