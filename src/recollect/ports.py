"""What the use cases need from the world, as small Protocols that speak the domain.

Every method of a store takes the owner first: there is no way to ask a question that is not
limited to one owner.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from recollect.core.ids import IdPrefix
from recollect.core.keys import Key
from recollect.core.memory import Changes, Draft, Memory, Scope, Stats
from recollect.core.paging import Cursor, Page
from recollect.core.recall import Candidate, RecallRequest, Recollection
from recollect.core.recall_settings import LexicalRanking, RecallSettings


class Clock(Protocol):
    def now(self) -> datetime:
        """The present moment, with its time zone."""


@dataclass(frozen=True, slots=True)
class WordQuery:
    """What the lexical leg looks for: every word of `text`, else any of it or of `expanded`."""

    text: str
    expanded: str = ""
    depth: int = 50
    exclude: frozenset[UUID] = frozenset()
    ranking: LexicalRanking = "idf"


class MemoryStore(Protocol):
    """Where memories live. What `add`, `replace` and `erase` acknowledge survives a kill.

    Memories and scopes arrive checked (`core/memory.py`): no text in them is unstorable.
    """

    async def add(self, memory: Memory) -> None:
        """Keep a new memory; Conflict when its id is taken."""

    async def get(self, owner: str, id: UUID) -> Memory | None:
        """One memory, forgotten or not."""

    async def get_many(self, owner: str, ids: Collection[UUID]) -> dict[UUID, Memory]:
        """Those of the memories that exist and are not forgotten."""

    async def ids_with_prefix(
        self, owner: str, prefix: IdPrefix, limit: int, *, forgotten: bool
    ) -> list[UUID]:
        """The ids that begin so, in order; forgotten ones only when asked for."""

    async def replace(self, memory: Memory, *, based_on: int) -> bool:
        """Put this state in the place of version `based_on`; False when that is not current."""

    async def erase(self, owner: str, id: UUID) -> bool:
        """Remove every trace of a memory; False when there was none."""

    async def page(
        self, owner: str, scope: Scope, after: Cursor | None, limit: int
    ) -> list[Memory]:
        """A scope's memories, newest first, from behind the cursor on."""

    async def search_words(self, owner: str, scope: Scope, query: WordQuery) -> list[Candidate]:
        """The lexical leg: matching memories, best first. No text can make it raise."""

    async def stats(self, owner: str) -> Stats:
        """What this owner has stored, in numbers."""


class SettingsStore(Protocol):
    """Run-time settings as rows, shared by every process on the store."""

    async def read_settings(self) -> Mapping[str, object]:
        """The settings that were changed from their defaults."""

    async def write_settings(self, changes: Mapping[str, object]) -> None:
        """Keep these values; all of them or none."""


class KeyStore(Protocol):
    """The keys a server knows. It keeps their hashes, never the keys."""

    async def add_key(self, key: Key) -> None:
        """Keep a new key."""

    async def find_key(self, digest: bytes) -> Key | None:
        """The key with this hash, revoked or not."""

    async def list_keys(self) -> Sequence[Key]:
        """All keys, oldest first."""

    async def revoke_key(self, id: UUID, at: datetime) -> bool:
        """Stop honouring a key; False when there is no such key in force."""


class Leg(Protocol):
    """One way to find candidates, ordered best first."""

    async def __call__(
        self, owner: str, request: RecallRequest, settings: RecallSettings
    ) -> Sequence[Candidate]: ...


class Recollect(Protocol):
    """Everything a shell can ask, for one owner: the use cases here, or a server elsewhere.

    A `reference` is an id or any unambiguous prefix of one.
    """

    async def remember(self, draft: Draft) -> Memory: ...

    async def recall(self, request: RecallRequest) -> Recollection: ...

    async def get(self, reference: str) -> Memory: ...

    async def page(self, scope: Scope, cursor: str | None, limit: int) -> Page: ...

    async def update(
        self, reference: str, changes: Changes, *, based_on: int | None = None
    ) -> Memory: ...

    async def forget(self, reference: str, *, forever: bool = False) -> UUID: ...

    async def stats(self) -> Stats: ...

    async def settings(self) -> RecallSettings: ...

    async def change_settings(self, changes: Mapping[str, object]) -> RecallSettings: ...
