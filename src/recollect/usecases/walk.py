"""Fuse what the legs found, and let the concept graph have its say about it.

The graph leg sets out from the fused hits, so it runs after them, in what is left of the time. If
it fails, is late or has nothing to say, the fused order stands, and the answer says so. What it
finds beyond them is held to the same rules as any hit: scope, exclude, sensitive, forgotten.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from time import perf_counter
from uuid import UUID

from recollect.core.faults import explained
from recollect.core.fusion import Answers, Fused
from recollect.core.memory import Memory
from recollect.core.recall import Declined, LegName, LegReport, RecallRequest
from recollect.core.recall_settings import RecallSettings
from recollect.core.walking import may_join, newcomers, reordered
from recollect.usecases.legs import LegOutcome
from recollect.usecases.parts import Parts
from recollect.usecases.tasks import ms_since


async def fuse_and_walk(
    parts: Parts,
    owner: str,
    request: RecallRequest,
    settings: RecallSettings,
    weights: Mapping[LegName, float],
    answers: Answers,
    seconds: float,
) -> tuple[list[Fused], LegOutcome | None]:
    """The fused order after the walk, and what became of the graph leg; None where there is no
    walker, and what was told of that leg holds.
    """
    if parts.walker is None:
        return await parts.fuser(answers, weights, settings.fusion, settings.constant), None
    weight = weights["graph"]
    base = {**weights, "graph": 0.0}
    fused = await parts.fuser(answers, base, settings.fusion, settings.constant)
    if weight <= 0.0:
        return fused, LegOutcome(LegReport("skipped", weight))
    if request.sort_by != "relevance" or not fused:
        # A walk tells what is relevant; sorted by date, its newcomers would only be strangers.
        note = "the graph is walked from what was found, for the order by relevance"
        return fused, LegOutcome(LegReport("skipped", weight, note=note))
    started = perf_counter()
    try:
        async with asyncio.timeout(seconds):
            walked = await parts.walker(owner, request, settings, weight, fused)
            if isinstance(walked, Declined):
                report = LegReport(walked.status, weight, 0, ms_since(started), walked.note)
                return fused, LegOutcome(report)
            joining = await _joining(parts, owner, request, newcomers(fused, walked))
    except TimeoutError:
        note = f"no answer within {seconds * 1000:.0f} ms, its share of the time"
        report = LegReport("late", weight, took_ms=ms_since(started), note=note)
        return fused, LegOutcome(report)
    except Exception as error:  # noqa: BLE001  # whatever the graph has, the other legs have answered
        report = LegReport("failed", weight, took_ms=ms_since(started), note=explained(error))
        return fused, LegOutcome(report, error=error)
    order = reordered(fused, walked, joining)
    report = LegReport("ran", weight, len(walked), ms_since(started))
    return order, LegOutcome(report)


async def _joining(
    parts: Parts, owner: str, request: RecallRequest, ids: list[UUID]
) -> dict[UUID, Memory]:
    """Those of the graph's own finds that may be recalled, as they are or were then."""
    found: Mapping[UUID, Memory] = {}
    if ids and request.as_of is None:
        found = await parts.store.get_many(owner, ids)
    elif ids:
        found = (await parts.store.fetch(owner, ids, request.as_of)).memories
    return {id: memory for id, memory in found.items() if may_join(request, memory)}
