"""Memories as a user may have stored them, for tests that never see a store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from recollect.core.memory.ids import uuid7
from recollect.core.memory.memory import Memory

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


def memory(number: int, content: str, **fields: object) -> Memory:
    at = BEGINNING + timedelta(minutes=number)
    id = uuid7(at, number.to_bytes(10, "big"))
    return Memory(id=id, owner="me", content=content, created_at=at, updated_at=at, **fields)  # type: ignore[arg-type]  # a test's own


def filler(first: int, count: int) -> list[Memory]:
    """Return memories that no test asks about, in words that many of them share."""
    return [
        memory(first + number, f"Everyday entry w{number}: errands and ordinary weather")
        for number in range(count)
    ]
