"""Fuse what the legs found, and let the concept graph have its say about it.

The graph leg sets out from the fused hits, so it walks after them, in what is left of the time;
what else it needs to know it asks for beside them. If it fails, is late or has nothing to say, the
fused order stands, and the answer says so. What it finds beyond them is held to the same rules as
any hit: scope, exclude, sensitive, forgotten.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.core.graph.walk import Walked, can_join, new_candidates, reorder
from recollect.core.privacy.redaction import safe_message
from recollect.core.recall.request import Declined, LegName, LegReport, RecallRequest
from recollect.usecases.recall.legs import LegOutcome
from recollect.usecases.workers.tasks import cancel, ms_since

if TYPE_CHECKING:
    from recollect.core.memory.memory import Memory
    from recollect.core.recall.fusion import Answers, Fused
    from recollect.core.recall.settings import RecallSettings
    from recollect.usecases.context import Context


@dataclass(frozen=True, slots=True)
class Walk:
    """A walk that is about to set out: `leg` waits for the `start`."""

    leg: asyncio.Task[Sequence[Walked] | Declined]
    start: asyncio.Future[Sequence[Fused]]


@contextmanager
def prepare_walk(
    context: Context,
    owner: str,
    request: RecallRequest,
    settings: RecallSettings,
    weights: Mapping[LegName, float],
) -> Iterator[Walk | None]:
    """While entered, the graph leg prepares itself beside the others; None where none will walk."""
    walker, weight = context.walker, weights["graph"]
    # A walk tells what is relevant; sorted by date, its newcomers would only be strangers.
    if walker is None or weight <= 0.0 or request.sort_by != "relevance":
        yield None
        return
    start: asyncio.Future[Sequence[Fused]] = asyncio.get_running_loop().create_future()

    async def prepare_and_walk() -> Sequence[Walked] | Declined:
        await asyncio.sleep(0)  # the other legs first: a model takes longer than looking up names
        return await walker(owner, request, settings, weight, start)

    walk = Walk(asyncio.create_task(prepare_and_walk(), name="graph leg"), start)
    try:
        yield walk
    finally:  # also when the recall itself is cancelled: no leg works on for nobody
        cancel(walk.leg)


async def run_graph_leg(
    context: Context,
    owner: str,
    request: RecallRequest,
    settings: RecallSettings,
    weights: Mapping[LegName, float],
    answers: Answers,
    walk: Walk | None,
    seconds: float,
    also: UUID | None = None,
) -> tuple[list[Fused], LegOutcome | None]:
    """The fused order after the walk, and what became of the graph leg; None where there is no
    walker, and what was told of that leg holds. `also` may take part though it is out of scope.
    """
    if context.walker is None:
        return await context.fuser(answers, weights, settings.fusion, settings.constant), None
    weight = weights["graph"]
    base = {**weights, "graph": 0.0}
    fused = await context.fuser(answers, base, settings.fusion, settings.constant)
    if weight <= 0.0:
        return fused, LegOutcome(LegReport("skipped", weight))
    if walk is None:
        note = "the graph is walked for the order by relevance"
        return fused, LegOutcome(LegReport("skipped", weight, note=note, reason="other_order"))
    if not fused:
        note = "the graph is walked from what was found, and nothing was"
        return fused, LegOutcome(LegReport("skipped", weight, note=note, reason="nothing_found"))
    started = perf_counter()
    walk.start.set_result(fused)
    try:
        async with asyncio.timeout(seconds):
            walked = await walk.leg
            if isinstance(walked, Declined):
                took_ms = ms_since(started)
                report = LegReport(walked.status, weight, 0, took_ms, walked.note, walked.reason)
                return fused, LegOutcome(report)
            joining = await _joining(context, owner, request, new_candidates(fused, walked), also)
    except TimeoutError:
        note = f"no answer within {seconds * 1000:.0f} ms, its share of the time"
        report = LegReport("late", weight, took_ms=ms_since(started), note=note)
        return fused, LegOutcome(report)
    except Exception as error:  # noqa: BLE001  # whatever the graph has, the other legs have answered
        report = LegReport("failed", weight, took_ms=ms_since(started), note=safe_message(error))
        return fused, LegOutcome(report, error=error)
    order = reorder(fused, walked, joining)
    report = LegReport("ran", weight, sum(one.is_known for one in walked), ms_since(started))
    return order, LegOutcome(report)


async def _joining(
    context: Context, owner: str, request: RecallRequest, ids: list[UUID], also: UUID | None
) -> dict[UUID, Memory]:
    """Those of the graph's own finds that may be recalled, as they are or were then."""
    found: Mapping[UUID, Memory] = {}
    if ids and request.as_of is None:
        found = await context.store.get_many(owner, ids)
    elif ids:
        found = (await context.store.fetch(owner, ids, request.as_of)).memories
    return {
        id: memory
        for id, memory in found.items()
        if can_join(request, memory) or (id == also and not memory.is_sensitive)
    }
