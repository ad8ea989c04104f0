"""When a relation that holds once at a time held, and which statement belongs to which time.

"Ada works at Initech" and later "Ada works at Globex" are both true, each in its time. Statements
may become known in any order; the periods come out the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Period:
    """From when until when an edge says that its target holds."""

    edge: UUID
    target: UUID
    start: datetime
    end: datetime | None


def place(periods: Iterable[Period], target: UUID, at: datetime) -> Period | None:
    """The period that a statement made at a moment belongs to: one of the same target in which the
    moment lies, or that begins next after it (which then begins at that moment). None when the
    statement begins a period of its own.
    """
    ordered = sorted(periods, key=lambda one: (one.start, one.edge))
    before = [one for one in ordered if one.start <= at]
    after = [one for one in ordered if one.start > at]
    if before and before[-1].target == target and _lasts(before[-1], at):
        return before[-1]
    if after and after[0].target == target:
        return after[0]
    return None


def _lasts(period: Period, at: datetime) -> bool:
    return period.end is None or at < period.end
