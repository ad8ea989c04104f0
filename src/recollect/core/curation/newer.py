"""Rank an update before the memory that it updates.

Asked for the port, recall finds "the API runs on port 8000" and "the API moved to port 9000", and
usually ranks the outdated one first, because it matches the question better. The curation rules
recognize such pairs (docs/adr/0054). Both stay in the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from recollect.core.curation.cues import find_change
from recollect.core.curation.pairs import compare_statements
from recollect.core.recall.request import NewerThan

if TYPE_CHECKING:
    from recollect.core.memory.memory import Memory
    from recollect.core.recall.request import Hit

MAX_COMPARED: Final = 5
"""How many hits are compared with each other: as many as an agent reads. All pairs of ten take four
times as long and moved nothing else to the first place."""

REACH: Final = 10
"""How many hits are compared with the first ones if they say that something changed: "we switched
from Jenkins" shares few words with a question about the build."""

MIN_CONFIDENCE: Final = 0.7


def put_newer_first(hits: Sequence[Hit], question: str) -> list[Hit]:
    """Move each update among the first hits directly before the hit that it updates."""
    order = list(hits)
    for place in range(1, min(len(order), REACH)):
        update = order[place].memory
        if place >= MAX_COMPARED and find_change(update.content) is None:
            continue
        for above in range(min(place, MAX_COMPARED)):
            older = order[above].memory
            reason = _find_update(update, older, question)
            if reason is not None:
                moved = replace(order.pop(place), newer_than=NewerThan(older.id, reason))
                order.insert(above, moved)
                break
    return order


def _find_update(newer: Memory, older: Memory, question: str) -> str | None:
    if newer.created_at <= older.created_at or newer.project != older.project:
        return None
    decision = compare_statements(newer.content, older.content, question=question)
    if decision is None or decision.kind != "supersedes":
        return None
    return decision.reason if decision.confidence >= MIN_CONFIDENCE else None
