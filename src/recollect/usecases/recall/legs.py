"""Ask the legs side by side, within one limit of time. A leg that fails, is late or has nothing to
ask is reported, and spoils nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from recollect.core.privacy.redaction import safe_message
from recollect.core.recall.request import (
    LEGS,
    Candidate,
    Declined,
    LegName,
    LegReport,
    RecallRequest,
)
from recollect.usecases.workers.tasks import cancel, error_of, ms_since

if TYPE_CHECKING:
    from recollect.core.recall.settings import RecallSettings
    from recollect.ports.recall import Leg


@dataclass(frozen=True, slots=True)
class LegOutcome:
    """What became of one leg: `found` when it answered, `error` when it raised."""

    report: LegReport
    found: Sequence[Candidate] | None = None
    error: BaseException | None = None


async def run_legs(
    legs: Mapping[LegName, Leg],
    weights: Mapping[LegName, float],
    owner: str,
    request: RecallRequest,
    settings: RecallSettings,
    seconds: float,
) -> dict[LegName, LegOutcome]:
    """Run each leg that is there and has a weight; tell of all of them."""
    took_ms: dict[LegName, float] = {}

    async def timed(name: LegName) -> Sequence[Candidate] | Declined:
        started = perf_counter()
        try:
            found = await legs[name](owner, request, settings)
        finally:
            took_ms[name] = ms_since(started)
        if isinstance(found, Declined) or not request.exclude:
            return found
        # A leg that knows nothing of `exclude` must not let an excluded memory cost a place.
        return [candidate for candidate in found if candidate.id not in request.exclude]

    running = {
        name: asyncio.create_task(timed(name), name=f"{name} leg")
        # The words last: while they are being put together, a model works already.
        for name in reversed(LEGS)
        if name in legs and weights[name] > 0.0
    }
    try:
        if running:
            await asyncio.wait(running.values(), timeout=seconds)
    finally:  # also when the recall itself is cancelled: no leg works on for nobody
        for started in running.values():
            cancel(started)
    outcomes: dict[LegName, LegOutcome] = {}
    for name in LEGS:
        weight = weights[name]
        task = running.get(name)
        if task is None:
            outcomes[name] = LegOutcome(LegReport("absent" if weight > 0.0 else "skipped", weight))
        elif not task.done():
            note = f"no answer within {seconds * 1000:.0f} ms, its share of the time"
            report = LegReport("late", weight, took_ms=seconds * 1000, note=note)
            outcomes[name] = LegOutcome(report)
        else:
            outcomes[name] = _ended(task, weight, took_ms.get(name, 0.0))
    return outcomes


def answers_of(outcomes: Mapping[LegName, LegOutcome]) -> dict[LegName, Sequence[Candidate]]:
    return {name: one.found for name, one in outcomes.items() if one.found is not None}


def raise_if_none_could_answer(outcomes: Mapping[LegName, LegOutcome]) -> None:
    """An empty answer would say "you know nothing of this"; a broken store must not say that."""
    if answers_of(outcomes):
        return
    for one in outcomes.values():
        if one.error is not None:
            raise one.error
    if any(one.report.status == "late" for one in outcomes.values()):
        raise TimeoutError


def _ended(
    task: asyncio.Task[Sequence[Candidate] | Declined], weight: float, took_ms: float
) -> LegOutcome:
    error = error_of(task)
    if error is not None:
        report = LegReport("failed", weight, took_ms=took_ms, note=safe_message(error))
        return LegOutcome(report, error=error)
    found = task.result()
    if isinstance(found, Declined):
        report = LegReport(found.status, weight, 0, took_ms, found.note, found.reason)
        return LegOutcome(report)
    return LegOutcome(LegReport("ran", weight, len(found), took_ms), found)
