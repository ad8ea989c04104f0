"""How long each part of a recall takes as the store grows.

A machine's speed says little about another's, so what counts are ratios within one run: the same
queries at several sizes, on a throw-away Postgres of this run's own. Each query runs three times
and its median counts, which takes out a neighbour's noise but not the query's own cost.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from time import perf_counter
from typing import Any, Final

from recollect import __version__
from recollect.bench.agreement import Agreement, agreements
from recollect.bench.corpus import KINDS, Corpus, QueryKind
from recollect.bench.rig import Rig
from recollect.core.ids import uuid7
from recollect.core.memory import Draft
from recollect.core.recall import RecallRequest

ROUNDS: Final = 3
TOP: Final = 10
STORE_CALLS: Final = 100

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Timing:
    """One line of the report."""

    rows: int
    part: str
    query_kind: str
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class Growth:
    """The p95 at the largest size over the p95 at the smallest."""

    part: str
    query_kind: str
    ratio: float


@dataclass(frozen=True, slots=True)
class Overhead:
    """The whole's p50 over that of what it must wait for: the embedding and the slowest leg."""

    rows: int
    query_kind: str
    ratio: float


@dataclass(frozen=True, slots=True)
class SpeedReport:
    results: tuple[Timing, ...]
    agreement: tuple[Agreement, ...]
    growth: tuple[Growth, ...]
    overhead: tuple[Overhead, ...]
    about: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


async def measure(
    rig: Rig, sizes: Sequence[int], *, queries: int, seed: int, progress: Progress
) -> SpeedReport:
    """Grow one store from size to size and put the same questions at each."""
    corpus = Corpus.seeded(seed)
    questions = {kind: corpus.queries(kind, queries, sizes[0]) for kind in KINDS}
    timings: list[Timing] = []
    agreed: list[Agreement] = []
    stored = 0
    for size in sizes:
        await rig.grow(corpus, stored, size, progress)
        stored = size
        for kind in KINDS:
            timings += await _time_recalls(rig, size, kind, questions[kind], progress)
            agreed += await agreements(rig, size, kind, questions[kind], progress)
        timings.append(await _time_storing(rig, size, corpus))
    return SpeedReport(
        tuple(timings),
        tuple(agreed),
        _growth(timings),
        _overhead(timings),
        {**_about(sizes, queries, seed), "embedder": rig.embedder_name},
    )


async def _time_recalls(
    rig: Rig, rows: int, kind: QueryKind, questions: Sequence[str], progress: Progress
) -> list[Timing]:
    """Each part alone, then the whole as a caller has it."""
    took: dict[str, list[float]] = {}
    for number, question in enumerate(questions, start=1):
        rounds: dict[str, list[float]] = {}
        for _ in range(ROUNDS):
            for part, ms in (await rig.time_parts(question)).items():
                rounds.setdefault(part, []).append(ms)
            started = perf_counter()
            await rig.recollect.recall(RecallRequest(question, limit=TOP))
            rounds.setdefault("whole", []).append((perf_counter() - started) * 1000)
        for part, times in rounds.items():
            took.setdefault(part, []).append(median(times))
        progress(f"{rows:,} rows, {kind}", number, len(questions))
    return [_timing(rows, part, kind, times) for part, times in took.items()]


async def _time_storing(rig: Rig, rows: int, corpus: Corpus) -> Timing:
    """Storing at this size; what was stored is erased again, so that sizes stay true."""
    took: list[float] = []
    for memory in corpus.memories(10_000_000 + rows, 10_000_000 + rows + STORE_CALLS):
        draft = Draft(memory.content, id=uuid7(memory.created_at, os.urandom(10)))
        started = perf_counter()
        kept = await rig.recollect.remember(draft)
        took.append((perf_counter() - started) * 1000)
        await rig.recollect.forget(str(kept.id), forever=True)
    return _timing(rows, "store", "any", took)


def _timing(rows: int, part: str, kind: str, took: Sequence[float]) -> Timing:
    p95 = quantiles(took, n=20)[-1] if len(took) > 1 else took[0]
    return Timing(rows, part, kind, round(median(took), 3), round(p95, 3))


def _growth(timings: Sequence[Timing]) -> tuple[Growth, ...]:
    rows = sorted({timing.rows for timing in timings})
    p95 = {(timing.part, timing.query_kind, timing.rows): timing.p95_ms for timing in timings}
    pairs = dict.fromkeys((timing.part, timing.query_kind) for timing in timings)
    return tuple(
        Growth(part, kind, round(p95[part, kind, rows[-1]] / p95[part, kind, rows[0]], 2))
        for part, kind in pairs
    )


def _overhead(timings: Sequence[Timing]) -> tuple[Overhead, ...]:
    p50 = {(one.rows, one.query_kind, one.part): one.p50_ms for one in timings}
    return tuple(
        Overhead(rows, kind, round(whole / _waited_for(p50, rows, kind), 2))
        for (rows, kind, part), whole in p50.items()
        if part == "whole"
    )


def _waited_for(p50: dict[tuple[int, str, str], float], rows: int, kind: str) -> float:
    slowest = max(p50.get((rows, kind, leg), 0.0) for leg in ("lexical", "dense"))
    return p50.get((rows, kind, "embed"), 0.0) + slowest


def _about(sizes: Sequence[int], queries: int, seed: int) -> dict[str, Any]:
    return {
        "recollect": __version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "sizes": list(sizes),
        "queries_per_kind": queries,
        "rounds": ROUNDS,
        "seed": seed,
    }
