"""Trace legs and worker steps by wrapping them; they need no knowledge of tracing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.core.recall.request import Candidate, Declined, LegName
from recollect.ports.tracing import Tracer

if TYPE_CHECKING:
    from recollect.core.recall.context import RecallContext
    from recollect.ports.recall import Leg, SecondPhaseLeg
    from recollect.usecases.workers.backoff import BackoffEvent, Backoffs
    from recollect.usecases.workers.worker import Step


def trace_leg(leg: Leg, name: LegName, tracer: Tracer) -> Leg:
    async def traced(context: RecallContext) -> Sequence[Candidate] | Declined:
        with tracer.span(f"{name} leg") as span:
            found = await leg(context)
            if isinstance(found, Declined):
                span.describe(f"{name} leg", status=found.status)
            else:
                span.describe(f"{name} leg", status="ran", found=len(found))
        return found

    return traced


class TracedSecondPhase:
    def __init__(self, leg: SecondPhaseLeg, name: LegName, tracer: Tracer) -> None:
        self._leg = leg
        self._name: LegName = name
        self._tracer = tracer

    async def prepare(self, context: RecallContext) -> Leg | Declined:
        with self._tracer.span(f"prepare {self._name} leg"):
            prepared = await self._leg.prepare(context)
        if isinstance(prepared, Declined):
            return prepared
        return trace_leg(prepared, self._name, self._tracer)


class TracedStep:
    def __init__(self, step: Step, tracer: Tracer) -> None:
        self.quiet_seconds = step.quiet_seconds
        self._step = step
        self._tracer = tracer

    async def work(self, backoffs: Backoffs) -> bool:
        with self._tracer.span(type(self._step).__name__):
            return await self._step.work(backoffs)

    async def wait_for_work(self, seconds: float) -> None:
        await self._step.wait_for_work(seconds)

    async def count_left(self) -> tuple[int, int]:
        return await self._step.count_left()

    def report(self, event: BackoffEvent) -> None:
        self._step.report(event)
