"""The second phase: legs that reorder what the first phase found.

Each prepares beside the first phase and is called with the fused order, one after another, in what
is left of the time. If one fails, is late or declines, the order before it stands, and the report
says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING

from recollect.core.recall.fusion import Fused, reorder
from recollect.core.recall.request import LEGS, Declined, LegName, LegReport
from recollect.usecases.recall.legs import LegOutcome
from recollect.usecases.tasks import cancel, elapsed_ms

if TYPE_CHECKING:
    from recollect.core.recall.context import RecallContext
    from recollect.ports.recall import Leg, SecondPhaseLeg


@dataclass(frozen=True, slots=True)
class SecondPhase:
    """The legs of the second phase, in their order: each is preparing, or has declined."""

    legs: Mapping[LegName, asyncio.Task[Leg | Declined] | Declined | None]

    async def run(
        self, context: RecallContext, fused: Sequence[Fused]
    ) -> tuple[list[Fused], dict[LegName, LegOutcome]]:
        """The order that the legs make of the fused one, and what became of each."""
        order = list(fused)
        outcomes: dict[LegName, LegOutcome] = {}
        for name, preparing in self.legs.items():
            outcomes[name] = await _run(replace(context, fused=order), name, preparing)
            order = reorder(order, name, outcomes[name].found or ())
        return order, outcomes


@contextmanager
def prepare_second_phase(
    context: RecallContext, legs: Mapping[LegName, SecondPhaseLeg]
) -> Iterator[SecondPhase]:
    """While entered, the legs prepare beside the first phase. None outlives the block."""

    async def prepare(leg: SecondPhaseLeg) -> Leg | Declined:
        # The first phase starts first: a model takes longer than what is looked up here.
        await asyncio.sleep(0)
        return await leg.prepare(context)

    preparing: dict[LegName, asyncio.Task[Leg | Declined] | Declined | None] = {}
    for name in LEGS:
        if name not in legs:
            continue
        if context.weights[name] <= 0.0:
            preparing[name] = None
        elif context.request.sort_by != "relevance":
            # It judges relevance: sorted otherwise, what only it finds would be out of place.
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


async def _run(
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
        return LegOutcome.late(seconds, weight, elapsed_ms(started))
    except Exception as error:  # noqa: BLE001  # whatever it is, the first phase has answered
        return LegOutcome.failed(error, weight, elapsed_ms(started))
    return LegOutcome.answered(found, weight, elapsed_ms(started))
