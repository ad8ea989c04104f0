"""What the use cases need from a store of memories and settings.

Every method of a store takes the owner first: no query can cross owners.
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
        """Return the present moment, with its time zone."""


class MemoryStore(Protocol):
    """Where memories are stored. What `add`, `replace` and `erase` acknowledge survives a kill.

    Memories and scopes are already checked (`core/memory/memory.py`): every text in them can be
    stored.
    """

    async def add(self, memory: Memory) -> None:
        """Store a new memory; Conflict if its id is taken or was erased."""

    async def add_unless_known(self, memory: Memory) -> Memory | None:
        """Store a new memory, unless there is one that says the same (`core/memory/duplicates.py`):
        then return that one. Of several writers that store a text at once, one succeeds.
        """

    async def add_all(self, memories: Sequence[Memory]) -> set[UUID]:
        """Store those whose id is neither taken nor erased, in one transaction; return the ids of
        those stored.
        """

    async def get(self, owner: str, id: UUID) -> Memory | None:
        """Return one memory, forgotten or not."""

    async def get_many(
        self, owner: str, ids: Collection[UUID], *, forgotten: bool = False
    ) -> dict[UUID, Memory]:
        """Return those of the memories that exist; forgotten ones only if requested."""

    async def versions(self, owner: str, id: UUID) -> list[Memory]:
        """Return the former states of a memory, oldest first, without the present one. If the
        memory is sensitive now, so are they.
        """

    async def fetch(self, owner: str, ids: Collection[UUID], as_of: AsOf = None) -> Fetched:
        """Return the memories that exist, and which of them another memory supersedes."""

    async def follow(
        self, owner: str, old: Collection[UUID], named: Collection[UUID], as_of: AsOf = None
    ) -> Resolution:
        """Follow links: from superseded memories to their last successors (the newest, where there
        are several), and from the memories that links name.
        """

    async def ids_with_prefix(
        self,
        owner: str,
        prefix: IdPart,
        limit: int,
        *,
        forgotten: bool,
        project: str | None = None,
    ) -> list[UUID]:
        """Return the ids with this prefix, in order; forgotten ones only if requested. With a
        project, only those of that project.
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
        """Replace version `based_on` with this state; False if that version is not current."""

    async def erase(self, owner: str, id: UUID) -> bool:
        """Remove every trace of a memory; False if there was none."""

    async def page(
        self, owner: str, scope: Scope, after: Cursor | None, limit: int
    ) -> list[Memory]:
        """Return a scope's memories, newest first, starting after the cursor."""

    async def table(self, owner: str, listing: Listing) -> Table:
        """Return some rows of a filtered, sorted listing, and how many there are in all."""

    async def change_mark(self, owner: str) -> object:
        """Return a value that differs after every change of this owner's memories. Cheap, since
        open pages poll it. It may also differ although nothing changed.
        """

    async def growth(self, owner: str, since: date, project: str | None = None) -> dict[date, int]:
        """Count the memories that were stored in each week from this day on, in all or in one
        project, by the week's Monday.
        """

    async def search_words(self, owner: str, scope: Scope, query: WordQuery) -> list[Candidate]:
        """Search the lexical leg: matching memories, best first. No text can make it raise."""

    async def find_same(self, memories: Sequence[Memory]) -> dict[UUID, Memory]:
        """Find for new memories of one owner, by their ids, the stored ones that say the same."""

    async def find_removed(
        self, owner: str, texts: Collection[PlacedText]
    ) -> dict[PlacedText, datetime]:
        """Find which of these texts were erased, forgotten or replaced by another text, and when.
        Turns of conversations are not among them.
        """

    async def projects(self, owner: str) -> list[str]:
        """Return the projects with at least one memory that is not forgotten."""

    async def former_names(self, owner: str) -> Mapping[str, str]:
        """Which project each former name means."""

    async def rename_project(
        self, owner: str, old: str, new: str, *, by: str | None, at: datetime
    ) -> int:
        """Give every memory of a project, forgotten ones too, to another name, as one change, and
        keep the old name as a former one; how many they were.
        """

    async def stats(self, owner: str, project: str | None = None) -> Stats:
        """Count what this owner has stored, in all or in one project."""


class SettingsStore(Protocol):
    """Run-time settings as rows, shared by every process that uses the store."""

    async def read_settings(self) -> Mapping[str, object]:
        """Return the settings that differ from their defaults."""

    async def write_settings(self, changes: Mapping[str, object], *, by: str, at: datetime) -> None:
        """Store these values and, of those that differ, who changed them; all of it or nothing."""

    async def settings_log(self, limit: int) -> list[SettingChange]:
        """Return the latest changes, newest first."""
