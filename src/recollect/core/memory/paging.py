"""Pages of a listing, newest first, and the cursor where the next one starts."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
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
        """The cursor that `encode` produced; nothing else is accepted."""
        cursor = cls._read(text)
        if cursor is None or cursor.encode() != text:
            raise InvalidInput(
                "the cursor is not valid",
                field="cursor",
                remedy="Pass `next_cursor` of the previous page unchanged, or omit it for the "
                "first page.",
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


def check_page_size(limit: int) -> None:
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidInput(
            f"limit {limit} is outside 1..{MAX_PAGE}",
            field="limit",
            remedy=f"Request 1 to {MAX_PAGE} memories per page.",
        )
