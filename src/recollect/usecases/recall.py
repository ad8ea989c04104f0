"""Find the memories most useful for a query: the hot path, run before every prompt.

The legs run side by side under one deadline. A leg that fails or is late is named in the answer and
left out; only when no leg at all could answer does the recall itself fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from time import perf_counter

from recollect.core.errors import RecollectError, StoreUnavailable
from recollect.core.fusion import fuse
from recollect.core.ranking import rank
from recollect.core.recall import (
    LEGS,
    Candidate,
    Hit,
    LegName,
    LegReport,
    RecallRequest,
    Recollection,
)
from recollect.core.recall_settings import RecallSettings
from recollect.ports import Leg, MemoryStore, WordQuery
from recollect.usecases import tune
from recollect.usecases.parts import Parts

# Of the deadline, what the legs may use: the rest is for fetching the hits' texts.
_SHARE_FOR_LEGS = 0.8

_Running = Mapping[LegName, asyncio.Task[Sequence[Candidate]]]
_Answers = dict[LegName, Sequence[Candidate]]


def lexical_leg(store: MemoryStore) -> Leg:
    """The leg that matches words, on any store."""

    async def leg(
        owner: str, request: RecallRequest, settings: RecallSettings
    ) -> Sequence[Candidate]:
        return await store.search_words(
            owner,
            request.scope,
            WordQuery(
                text=request.query,
                expanded=request.expanded_query,
                depth=max(settings.depth, request.limit),
                exclude=request.exclude,
                ranking=settings.lexical_ranking,
            ),
        )

    return leg


async def recall(parts: Parts, owner: str, request: RecallRequest) -> Recollection:
    started = perf_counter()
    request = request.checked()
    settings = RecallSettings()  # until the store's are read, the default deadline holds
    now = asyncio.get_running_loop().time
    begun = now()
    try:
        async with asyncio.timeout(settings.deadline_ms / 1000) as limit:
            settings = await tune.settings(parts)
            seconds = settings.deadline_ms / 1000
            limit.reschedule(begun + seconds)
            weights = {**settings.weights(), **request.weights}
            left_for_legs = begun + seconds * _SHARE_FOR_LEGS - now()
            answers, reports = await _run_legs(
                parts.legs, weights, owner, request, settings, max(left_for_legs, 0.0)
            )
            fused = fuse(answers, weights, settings.fusion, settings.rrf_k)
            ranked = rank(fused, request.sort_by)[: request.limit]
            memories = await parts.store.get_many(owner, [one.fused.candidate.id for one in ranked])
    except TimeoutError as error:
        raise StoreUnavailable(
            f"the store did not answer within the recall's deadline of {settings.deadline_ms} ms",
            remedy="Try again; if it stays slow, see `recollect doctor` or raise deadline_ms.",
        ) from error
    hits = tuple(
        Hit(memories[id], one.score, one.fused.score, one.prior, one.fused.legs)
        for one in ranked
        # A memory forgotten since its leg ran is not shown.
        if (id := one.fused.candidate.id) in memories
    )
    return Recollection(hits, reports, settings.fusion, _ms_since(started))


async def _run_legs(
    legs: Mapping[LegName, Leg],
    weights: Mapping[LegName, float],
    owner: str,
    request: RecallRequest,
    settings: RecallSettings,
    seconds: float,
) -> tuple[_Answers, dict[LegName, LegReport]]:
    took_ms: dict[LegName, float] = {}

    async def timed(name: LegName) -> Sequence[Candidate]:
        started = perf_counter()
        try:
            found = await legs[name](owner, request, settings)
        finally:
            took_ms[name] = _ms_since(started)
        # A leg that knows nothing of `exclude` must not let an excluded memory cost a place.
        return [candidate for candidate in found if candidate.id not in request.exclude]

    running = {
        name: asyncio.create_task(timed(name), name=f"{name} leg")
        for name in LEGS
        if name in legs and weights[name] > 0.0
    }
    try:
        if running:
            await asyncio.wait(running.values(), timeout=seconds)
    finally:  # also when the recall itself is cancelled: no leg works on for nobody
        for started in running.values():
            _give_up(started)
    answers: _Answers = {}
    reports: dict[LegName, LegReport] = {}
    for name in LEGS:
        weight = weights[name]
        task = running.get(name)
        if task is None:
            reports[name] = LegReport("absent" if weight > 0.0 else "skipped", weight)
        elif not task.done():
            reports[name] = LegReport("late", weight, took_ms=seconds * 1000)
        elif (error := _error_of(task)) is not None:
            note = _explained(error)
            reports[name] = LegReport("failed", weight, took_ms=took_ms[name], note=note)
        else:
            answers[name] = task.result()
            reports[name] = LegReport("ran", weight, len(answers[name]), took_ms[name])
    _raise_if_nothing_could_answer(running, answers)
    return answers, reports


def _raise_if_nothing_could_answer(running: _Running, answers: _Answers) -> None:
    """An empty answer would say "you know nothing of this"; a broken store must not say that."""
    if answers or not running:
        return
    for task in running.values():
        if task.done() and (error := _error_of(task)) is not None:
            raise error
    raise TimeoutError


def _give_up(task: asyncio.Task[Sequence[Candidate]]) -> None:
    """End a leg that still runs, and look at how it ends: asyncio logs what nobody looked at."""
    task.cancel()
    task.add_done_callback(_error_of)


def _error_of(task: asyncio.Task[Sequence[Candidate]]) -> BaseException | None:
    if task.cancelled():
        return StoreUnavailable("the leg was interrupted", remedy="Try again.")
    return task.exception()


def _explained(error: BaseException) -> str:
    """Our own errors explain themselves; of others only the kind is told, for their text may
    quote what must not be repeated.
    """
    return str(error) if isinstance(error, RecollectError) else type(error).__name__


def _ms_since(started: float) -> float:
    return (perf_counter() - started) * 1000
