"""What the use cases need from a store of memories and settings.

Every method of a store takes the owner first: there is no way to ask a question that is not
limited to one owner.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from recollect.core.admin.stats import Stats
    from recollect.core.memory.duplicates import PlacedText
    from recollect.core.memory.ids import IdPart
    from recollect.core.memory.listing import Cursor, Listing, Table
    from recollect.core.memory.memory import Memory, Scope
    from recollect.core.recall.request import Candidate
    from recollect.core.recall.settings import SettingChange, WordQuery
    from recollect.core.recall.successors import AsOf, Fetched, Resolution


class Clock(Protocol):
    def now(self) -> datetime:
        """The present moment, with its time zone."""


class MemoryStore(Protocol):
    """Where memories live. What `add`, `replace` and `erase` acknowledge survives a kill.

    Memories and scopes arrive checked (`core/memory/memory.py`): no text in them is unstorable.
    """

    async def add(self, memory: Memory) -> None:
        """Keep a new memory; Conflict when its id is taken or was erased."""

    async def add_unless_known(self, memory: Memory) -> Memory | None:
        """Keep a new memory unless there is one that says the same (`core/memory/duplicates.py`):
        then that one is the answer. However many writers store a text at once, one memory is kept.
        """

    async def add_all(self, memories: Sequence[Memory]) -> set[UUID]:
        """Keep those whose id is neither taken nor erased, all in one transaction; the ids of those
        kept.
        """

    async def get(self, owner: str, id: UUID) -> Memory | None:
        """One memory, forgotten or not."""

    async def get_many(
        self, owner: str, ids: Collection[UUID], *, forgotten: bool = False
    ) -> dict[UUID, Memory]:
        """Those of the memories that exist; forgotten ones only when asked for."""

    async def versions(self, owner: str, id: UUID) -> list[Memory]:
        """Former states of a memory, oldest first, without the present one. If the memory is
        sensitive now, they are, too.
        """

    async def fetch(self, owner: str, ids: Collection[UUID], as_of: AsOf = None) -> Fetched:
        """The same, and which of them another memory supersedes."""

    async def follow(
        self, owner: str, old: Collection[UUID], named: Collection[UUID], as_of: AsOf = None
    ) -> Resolution:
        """To the last successors, the newest of several each time, and to what links name."""

    async def ids_with_prefix(
        self,
        owner: str,
        prefix: IdPart,
        limit: int,
        *,
        forgotten: bool,
        project: str | None = None,
    ) -> list[UUID]:
        """The ids that begin so, in order; forgotten ones only when asked for. With a project,
        those of that project alone.
        """

    async def ids_with_endings(
        self,
        owner: str,
        endings: Collection[str],
        *,
        forgotten: bool,
        project: str | None = None,
    ) -> list[UUID]:
        """The ids that end in one of these (`core/memory/ids.py`), in order; otherwise the same."""

    async def replace(self, memory: Memory, *, based_on: int) -> bool:
        """Put this state in the place of version `based_on`; False when that is not current."""

    async def erase(self, owner: str, id: UUID) -> bool:
        """Remove every trace of a memory; False when there was none."""

    async def page(
        self, owner: str, scope: Scope, after: Cursor | None, limit: int
    ) -> list[Memory]:
        """A scope's memories, newest first, from behind the cursor on."""

    async def table(self, owner: str, listing: Listing) -> Table:
        """Some rows of a filtered, sorted listing, and how many there are in all."""

    async def change_mark(self, owner: str) -> object:
        """Differs after every change of this owner's memories. Cheap: open pages ask all the time.
        It may also differ where nothing changed.
        """

    async def growth(self, owner: str, since: date, project: str | None = None) -> dict[date, int]:
        """How many memories were stored in each week from this day on, in all or in
        one project, by the week's Monday.
        """

    async def search_words(self, owner: str, scope: Scope, query: WordQuery) -> list[Candidate]:
        """The lexical leg: matching memories, best first. No text can make it raise."""

    async def find_same(self, memories: Sequence[Memory]) -> dict[UUID, Memory]:
        """Of new memories of one owner, by their ids, the stored ones that say the same."""

    async def find_removed(
        self, owner: str, texts: Collection[PlacedText]
    ) -> dict[PlacedText, datetime]:
        """When texts were erased, forgotten or replaced by another text, of those that were.
        Turns of conversations are not among them.
        """

    async def projects(self, owner: str) -> list[str]:
        """The projects that hold a memory which is not forgotten."""

    async def former_names(self, owner: str) -> Mapping[str, str]:
        """Which project each former name means."""

    async def rename_project(
        self, owner: str, old: str, new: str, *, by: str | None, at: datetime
    ) -> int:
        """Give every memory of a project, forgotten ones too, to another name, as one change, and
        keep the old name as a former one; how many they were.
        """

    async def stats(self, owner: str, project: str | None = None) -> Stats:
        """What this owner has stored, in all or in one project, in numbers."""


class SettingsStore(Protocol):
    """Run-time settings as rows, shared by every process on the store."""

    async def read_settings(self) -> Mapping[str, object]:
        """The settings that were changed from their defaults."""

    async def write_settings(self, changes: Mapping[str, object], *, by: str, at: datetime) -> None:
        """Keep these values and, of those that differ, who changed them; all of it or nothing."""

    async def settings_log(self, limit: int) -> list[SettingChange]:
        """The latest changes, newest first."""
