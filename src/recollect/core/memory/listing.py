"""A table of memories: filtered, sorted, and readable from any row on."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import EVERYWHERE, Memory, Scope

MAX_PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last memory of a page. A position, not an offset: concurrent writes shift nothing."""

    created_at: datetime
    id: UUID

    @classmethod
    def after(cls, memory: Memory) -> Cursor:
        return cls(memory.created_at, memory.id)

    def encode(self) -> str:
        text = f"{self.created_at.astimezone(UTC).isoformat()}|{self.id}"
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> Cursor:
        """Decode a cursor that `encode` produced; nothing else is accepted."""
        cursor = cls._read(text)
        if cursor is None or cursor.encode() != text:
            raise InvalidInput(
                "the cursor is not valid",
                field="cursor",
                remedy="Pass the id of the last memory of the previous page, or its `next_cursor` "
                "unchanged; omit it for the first page.",
            )
        return cursor

    @classmethod
    def _read(cls, text: str) -> Cursor | None:
        try:
            padded = text + "=" * (-len(text) % 4)
            moment, id = base64.urlsafe_b64decode(padded.encode()).decode().split("|")
            return cls(datetime.fromisoformat(moment).astimezone(UTC), UUID(id))
        except (ValueError, OverflowError):
            return None


@dataclass(frozen=True, slots=True)
class Page:
    """Some memories of a listing; `next_cursor` is absent on the last page. `scope` is where they
    were searched, with the project's full name.
    """

    memories: tuple[Memory, ...]
    next_cursor: str | None
    scope: Scope = EVERYWHERE


def join_pages(one: Page, other: Page, limit: int) -> Page:
    """The page of two stores together: both begin at the same place, and a memory that both have
    is shown once, as the first has it.
    """
    known = {memory.id: memory for memory in (*other.memories, *one.memories)}
    memories = sorted(known.values(), key=lambda memory: (memory.created_at, memory.id))[::-1]
    shown = tuple(memories[:limit])
    has_more = len(memories) > limit or one.next_cursor or other.next_cursor
    return Page(shown, Cursor.after(shown[-1]).encode() if has_more and shown else None, one.scope)


def check_page_size(limit: int) -> None:
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidInput(
            f"limit {limit} is outside 1..{MAX_PAGE}",
            field="limit",
            remedy=f"Request 1 to {MAX_PAGE} memories per page.",
        )


SortBy = Literal["created", "updated", "importance"]
Order = Literal["desc", "asc"]
MAX_WORDS: Final = 20
MAX_OFFSET: Final = 1_000_000_000
EXPIRES_SOON: Final = timedelta(days=7)
"""A memory that expires this soon needs attention."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Which memories, in which order, and which rows of them. Every one of `words` is part of the
    text, in any case. `only_forgotten` leaves out all others. With `expires_after` or
    `expires_by`, only memories whose `valid_until` is later than the first and not later than the
    second.
    """

    scope: Scope = EVERYWHERE
    words: tuple[str, ...] = ()
    is_sensitive: bool | None = None
    only_forgotten: bool = False
    expires_after: datetime | None = None
    expires_by: datetime | None = None
    sort_by: SortBy = "created"
    order: Order = "desc"
    offset: int = 0
    limit: int = 50

    def covers(self, memory: Memory) -> bool:
        return (
            self.scope.covers(memory)
            and (not self.only_forgotten or memory.deleted_at is not None)
            and self.is_sensitive in (None, memory.is_sensitive)
            and holds_words(memory.content, self.words)
            and self._covers_end(memory.valid_until)
        )

    def _covers_end(self, end: datetime | None) -> bool:
        after, by = self.expires_after, self.expires_by
        if end is None:
            return after is None and by is None
        return (after is None or end > after) and (by is None or end <= by)

    def key(self, memory: Memory) -> tuple[object, str]:
        first = {
            "created": memory.created_at,
            "updated": memory.updated_at,
            "importance": memory.importance,
        }
        return first[self.sort_by], str(memory.id)


@dataclass(frozen=True, slots=True)
class Table:
    """Some rows of a listing, and how many there are in all."""

    memories: tuple[Memory, ...]
    total: int


def holds_words(content: str, words: tuple[str, ...]) -> bool:
    text = content.lower()
    return all(word.lower() in text for word in words)


def check_rows(listing: Listing) -> None:
    check_page_size(listing.limit)
    if not 0 <= listing.offset <= MAX_OFFSET:
        raise InvalidInput(
            f"offset {listing.offset} is outside 0..{MAX_OFFSET}",
            field="offset",
            remedy="Pass the number of rows to skip, 0 for none.",
        )
    if len(listing.words) > MAX_WORDS:
        raise InvalidInput(
            f"{len(listing.words)} words given; the limit is {MAX_WORDS}",
            field="words",
            remedy="Filter by fewer words.",
        )


def expiring(now: datetime) -> Listing:
    """Return the memories that expire soon, without any rows: only their number is needed."""
    return Listing(expires_after=now, expires_by=now + EXPIRES_SOON, limit=0)


def week_of(moment: datetime) -> date:
    """Return the Monday of its week, in UTC."""
    day = moment.astimezone(UTC).date()
    return day - timedelta(days=day.weekday())
