"""Find the memories most useful for a query: the hot path, run before every prompt.

The legs of the first phase run concurrently and their answers are fused; those of the second phase
reorder the result; then it is ranked, and the texts of the hits are read. All of it shares one
deadline. A leg that fails or is late is reported in the answer and left out; the recall itself
fails only if no leg could answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING

from recollect.core.errors import StoreUnavailable
from recollect.core.recall.context import Deadline
from recollect.core.recall.decisions import are_weak, check_some_leg_counts, fuse_answers
from recollect.core.recall.request import LegName, LegReport, RecallRequest, Recollection
from recollect.usecases.admin import settings as tune
from recollect.usecases.recall.legs import (
    collect_answers,
    prepare_second_phase,
    raise_if_none_could_answer,
    run_legs,
)
from recollect.usecases.recall.rerank import rerank
from recollect.usecases.recall.steps import Now, begin, build_hits, rank_fused, show_hits
from recollect.usecases.tasks import measure_ms

if TYPE_CHECKING:
    from recollect.usecases.context import Context


async def recall(
    context: Context, owner: str, request: RecallRequest, *, updates_first: bool = True
) -> Recollection:
    """Return the hits, best first. `updates_first` puts updates before what they update, if the
    settings say so.
    """
    started = perf_counter()
    settings = context.default_settings  # until the stored ones are read
    clock = asyncio.get_running_loop().time
    begun = clock()
    store = context.store
    try:
        async with asyncio.timeout(settings.deadline_ms / 1000) as limit:
            settings = await tune.settings(context)
            deadline = Deadline(begun, settings.deadline_ms / 1000, clock, context.shares)
            limit.reschedule(begun + deadline.seconds)
            now = Now(context.clock.now(), deadline)
            asked = await begin(store, owner, request, settings, now)
            check_some_leg_counts(asked, context.legs)
            with prepare_second_phase(asked, context.second_phase) as second_phase:
                outcomes = await run_legs(asked, context.legs)
                raise_if_none_could_answer(outcomes)
                fused = fuse_answers(asked, collect_answers(outcomes))
                order, later_outcomes = await second_phase.run(asked, fused)
            ranking = await rank_fused(asked, store, order, context.late)
            ranking = await rerank(asked, context.reranker, ranking)
            found = await build_hits(asked, store, ranking)
            hits = await show_hits(asked, found, updates_first=updates_first)
    except TimeoutError as error:
        raise StoreUnavailable(
            f"the store did not answer within the recall's deadline of {settings.deadline_ms} ms",
            remedy="Try again; if it stays slow, see `recollect doctor` or raise deadline_ms.",
        ) from error
    reports = {name: leg.report for name, leg in {**outcomes, **later_outcomes}.items()}
    return Recollection(
        hits,
        reports,
        settings.fusion,
        measure_ms(started),
        ranking.rerank,
        scope=asked.scope,
        hint=context.hint(owner) or _nothing_embedded(reports),
        is_weak=are_weak(request.query, hits),
    )


def _nothing_embedded(reports: Mapping[LegName, LegReport]) -> str | None:
    dense = reports["dense"]
    return dense.note if dense.reason == "nothing_embedded" else None
