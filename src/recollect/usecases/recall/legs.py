"""Run the legs within one deadline. A leg that fails, is late or declines is reported, and does not
affect the others.

The legs of the first phase run concurrently. Those of the second reorder what the first found: they
prepare during the first phase, and are called with the fused order, one after another, in the
remaining time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Final

from recollect.core.privacy.redaction import safe_message
from recollect.core.recall.fusion import Fused, reorder
from recollect.core.recall.request import (
    LEGS,
    Candidate,
    Declined,
    LegName,
    LegReport,
    RecallRequest,
)
from recollect.usecases.tasks import analyze_text, cancel, exception_of, measure_ms

if TYPE_CHECKING:
    from recollect.core.recall.context import RecallContext
    from recollect.ports.recall import Leg, SecondPhaseLeg


_OTHER_LANGUAGE: Final = "lowered: the model was not made for the query's language"
_UNKNOWN_SCRIPT: Final = (
    "the model does not know the query's script, so it counts only where no other leg finds "
    "anything relevant"
)


@dataclass(frozen=True, slots=True)
class LegOutcome:
    """The outcome of one leg: `found` is set if it answered, `error` if it raised."""

    report: LegReport
    found: Sequence[Candidate] | None = None
    error: BaseException | None = None

    @classmethod
    def answered(
        cls, found: Sequence[Candidate] | Declined, weight: float, took_ms: float
    ) -> LegOutcome:
        if isinstance(found, Declined):
            return cls(LegReport(found.status, weight, 0, took_ms, found.note, found.reason))
        ranked = sum(candidate.is_ranked for candidate in found)
        trust = found[0].trust if found else 1.0
        note = None if trust == 1.0 else _OTHER_LANGUAGE if trust > 0.0 else _UNKNOWN_SCRIPT
        return cls(LegReport("ran", round(weight * trust, 3), ranked, took_ms, note), found)

    @classmethod
    def failed(cls, error: BaseException, weight: float, took_ms: float) -> LegOutcome:
        report = LegReport("failed", weight, took_ms=took_ms, note=safe_message(error))
        return cls(report, error=error)

    @classmethod
    def late(cls, seconds: float, weight: float, took_ms: float) -> LegOutcome:
        note = f"no answer within {seconds * 1000:.0f} ms, its share of the deadline"
        return cls(LegReport("late", weight, took_ms=took_ms, note=note))


async def must_stay(request: RecallRequest) -> bool:
    """Whether the query must not leave this machine."""
    chars = len(request.query) + len(request.expanded_query)
    return await analyze_text(chars, lambda: request.must_stay)


async def run_legs(
    context: RecallContext, legs: Mapping[LegName, Leg]
) -> dict[LegName, LegOutcome]:
    """Run the legs that have a weight; report on all of `LEGS`."""
    seconds = context.deadline.left_for_legs
    exclude = context.request.exclude
    took_ms: dict[LegName, float] = {}

    async def run_timed(name: LegName) -> Sequence[Candidate] | Declined:
        started = perf_counter()
        try:
            found = await legs[name](context)
        finally:
            took_ms[name] = measure_ms(started)
        if isinstance(found, Declined) or not exclude:
            return found
        # If a leg ignores `exclude`, an excluded memory must not take up a place.
        return [candidate for candidate in found if candidate.id not in exclude]

    running = {
        name: asyncio.create_task(run_timed(name), name=f"{name} leg")
        # The lexical leg last: while it builds its statement, the model is already running.
        for name in reversed(LEGS)
        if name in legs and context.weights[name] > 0.0
    }
    try:
        if running:
            await asyncio.wait(running.values(), timeout=seconds)
    finally:  # also when the recall itself is cancelled: no leg outlives it
        for unfinished in running.values():
            cancel(unfinished)
    outcomes: dict[LegName, LegOutcome] = {}
    for name in LEGS:
        weight = context.weights[name]
        task = running.get(name)
        if task is None:
            outcomes[name] = LegOutcome(LegReport("absent" if weight > 0.0 else "skipped", weight))
        elif not task.done():
            outcomes[name] = LegOutcome.late(seconds, weight, seconds * 1000)
        elif (error := exception_of(task)) is not None:
            outcomes[name] = LegOutcome.failed(error, weight, took_ms.get(name, 0.0))
        else:
            outcomes[name] = LegOutcome.answered(task.result(), weight, took_ms.get(name, 0.0))
    return outcomes


def collect_answers(outcomes: Mapping[LegName, LegOutcome]) -> dict[LegName, Sequence[Candidate]]:
    return {name: leg.found for name, leg in outcomes.items() if leg.found is not None}


def raise_if_none_could_answer(outcomes: Mapping[LegName, LegOutcome]) -> None:
    """Raise if no leg answered: an empty result would claim that no memory matches."""
    if collect_answers(outcomes):
        return
    for leg in outcomes.values():
        if leg.error is not None:
            raise leg.error
    if any(leg.report.status == "late" for leg in outcomes.values()):
        raise TimeoutError


@dataclass(frozen=True, slots=True)
class SecondPhase:
    """The legs of the second phase, in their order: each is preparing, or has declined."""

    legs: Mapping[LegName, asyncio.Task[Leg | Declined] | Declined | None]

    async def run(
        self, context: RecallContext, fused: Sequence[Fused]
    ) -> tuple[list[Fused], dict[LegName, LegOutcome]]:
        """Return the fused order as reordered by the legs, and each leg's outcome."""
        order = list(fused)
        outcomes: dict[LegName, LegOutcome] = {}
        for name, preparing in self.legs.items():
            outcomes[name] = await _run_second(replace(context, fused=order), name, preparing)
            order = reorder(order, name, outcomes[name].found or ())
        return order, outcomes


@contextmanager
def prepare_second_phase(
    context: RecallContext, legs: Mapping[LegName, SecondPhaseLeg]
) -> Iterator[SecondPhase]:
    """Let the legs prepare while the block runs the first phase. None outlives the block."""

    async def prepare(leg: SecondPhaseLeg) -> Leg | Declined:
        # Let the first phase start first: its model takes longer than these lookups.
        await asyncio.sleep(0)
        return await leg.prepare(context)

    preparing: dict[LegName, asyncio.Task[Leg | Declined] | Declined | None] = {}
    for name in LEGS:
        if name not in legs:
            continue
        if context.weights[name] <= 0.0:
            preparing[name] = None
        elif context.request.sort_by != "relevance":
            # Its hits are ranked by relevance; in another order they would be out of place.
            note = f"the {name} leg runs only when sorted by relevance"
            preparing[name] = Declined("skipped", note, "other_order")
        else:
            preparing[name] = asyncio.create_task(prepare(legs[name]), name=f"{name} leg")
    try:
        yield SecondPhase(preparing)
    finally:  # also when the recall itself is cancelled
        for task in preparing.values():
            if isinstance(task, asyncio.Task):
                cancel(task)


async def _run_second(
    context: RecallContext,
    name: LegName,
    preparing: asyncio.Task[Leg | Declined] | Declined | None,
) -> LegOutcome:
    weight = context.weights[name]
    if preparing is None:
        return LegOutcome(LegReport("skipped", weight))
    if isinstance(preparing, Declined):
        return LegOutcome.answered(preparing, weight, 0.0)
    if not context.fused:
        note = f"the {name} leg starts from what the others found, and they found nothing"
        return LegOutcome.answered(Declined("skipped", note, "nothing_found"), weight, 0.0)
    started, seconds = perf_counter(), context.deadline.left_for_second_phase
    try:
        async with asyncio.timeout(seconds):
            leg = await preparing
            found = leg if isinstance(leg, Declined) else await leg(context)
    except TimeoutError:
        return LegOutcome.late(seconds, weight, measure_ms(started))
    except Exception as error:  # noqa: BLE001  # whatever fails, the first phase has answered
        return LegOutcome.failed(error, weight, measure_ms(started))
    return LegOutcome.answered(found, weight, measure_ms(started))
