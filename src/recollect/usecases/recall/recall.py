"""Find the memories most useful for a query: the hot path, run before every prompt.

The legs run side by side under one deadline. A leg that fails or is late is named in the answer and
left out; only when no leg at all could answer does the recall itself fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from recollect.core.errors import InvalidInput, StoreUnavailable
from recollect.core.recall.request import LegName, LegReport, RecallRequest, Recollection
from recollect.core.recall.settings import RecallSettings
from recollect.usecases.admin import settings as tune
from recollect.usecases.memory.projects import resolve_scope
from recollect.usecases.recall.graph_leg import prepare_walk, run_graph_leg
from recollect.usecases.recall.legs import answers_of, raise_if_none_could_answer, run_legs
from recollect.usecases.recall.rank import rank_hits
from recollect.usecases.recall.successors import build_hits
from recollect.usecases.workers.tasks import ms_since

if TYPE_CHECKING:
    from recollect.usecases.context import Context

# Of the deadline, what the legs may use: the rest is for fetching the hits' texts. And what may be
# over when the walk over the graph has to be, and when the second stage: those are hard
# limits, and the answer must still get out.
_SHARE_FOR_LEGS = 0.8
_SHARE_FOR_WALK = 0.9
_SHARE_FOR_ALL_STAGES = 0.95


def _check_some_leg_counts(context: Context, weights: Mapping[LegName, float]) -> None:
    """Asking no leg cannot be meant, and an empty answer would say that nothing is known."""
    if not any(weights[name] > 0.0 for name in context.legs):
        here = " or ".join(f"{name}_weight" for name in context.legs)
        raise InvalidInput(
            "no leg can answer: the weight of each that is here is 0",
            field="weights",
            remedy=f"Give one a weight above 0 in this recall, or raise {here} in the settings.",
        )


async def recall(context: Context, owner: str, request: RecallRequest) -> Recollection:
    started = perf_counter()
    request = request.checked()
    settings = RecallSettings()  # until the store's are read, the default deadline holds
    now = asyncio.get_running_loop().time
    begun = now()
    try:
        async with asyncio.timeout(settings.deadline_ms / 1000) as limit:
            request = replace(request, scope=await resolve_scope(context, owner, request.scope))
            settings = await tune.settings(context)
            seconds = settings.deadline_ms / 1000
            limit.reschedule(begun + seconds)
            weights = {**settings.weights(), **request.weights}
            _check_some_leg_counts(context, weights)
            left_for_legs = begun + seconds * _SHARE_FOR_LEGS - now()
            with prepare_walk(context, owner, request, settings, weights) as walk:
                outcomes = await run_legs(
                    context.legs, weights, owner, request, settings, max(left_for_legs, 0.0)
                )
                raise_if_none_could_answer(outcomes)
                fused, graph = await run_graph_leg(
                    context,
                    owner,
                    request,
                    settings,
                    weights,
                    answers_of(outcomes),
                    walk,
                    max(begun + seconds * _SHARE_FOR_WALK - now(), 0.0),
                )
            if graph is not None:
                outcomes["graph"] = graph
            arranged = await rank_hits(
                context,
                owner,
                request,
                settings,
                fused,
                until=begun + seconds * _SHARE_FOR_ALL_STAGES,
            )
            hits = await build_hits(context.store, owner, request, arranged)
    except TimeoutError as error:
        raise StoreUnavailable(
            f"the store did not answer within the recall's deadline of {settings.deadline_ms} ms",
            remedy="Try again; if it stays slow, see `recollect doctor` or raise deadline_ms.",
        ) from error
    reports = {name: outcome.report for name, outcome in outcomes.items()}
    return Recollection(
        hits,
        reports,
        settings.fusion,
        ms_since(started),
        arranged.rerank,
        scope=request.scope,
        hint=context.hint(owner) or _nothing_embedded(reports),
    )


def _nothing_embedded(reports: Mapping[LegName, LegReport]) -> str | None:
    dense = reports["dense"]
    return dense.note if dense.reason == "nothing_embedded" else None
