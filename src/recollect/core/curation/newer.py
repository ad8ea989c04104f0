"""Rank an update before the memory that it updates.

Asked for the port, recall finds "the API runs on port 8000" and "the API moved to port 9000", and
usually ranks the outdated one first, because it matches the question better. The curation rules
recognize such pairs (docs/adr/0054). Both stay in the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from recollect.core.curation.pairs import compare_statements
from recollect.core.recall.request import NewerThan

if TYPE_CHECKING:
    from recollect.core.memory.memory import Memory
    from recollect.core.recall.request import Hit

MAX_COMPARED: Final = 5
"""How many hits are compared with each other: as many as an agent reads. All pairs of ten take four
times as long and moved nothing else to the first place."""

MIN_CONFIDENCE: Final = 0.7


def put_newer_first(hits: Sequence[Hit]) -> list[Hit]:
    """Move each update among the first hits directly before the hit that it updates."""
    order = list(hits)
    for place in range(1, min(len(order), MAX_COMPARED)):
        for above in range(place):
            older = order[above].memory
            reason = _find_update(order[place].memory, older)
            if reason is not None:
                moved = replace(order.pop(place), newer_than=NewerThan(older.id, reason))
                order.insert(above, moved)
                break
    return order


def _find_update(newer: Memory, older: Memory) -> str | None:
    if newer.created_at <= older.created_at or newer.project != older.project:
        return None
    decision = compare_statements(newer.content, older.content)
    if decision is None or decision.kind != "supersedes":
        return None
    return decision.reason if decision.confidence >= MIN_CONFIDENCE else None
