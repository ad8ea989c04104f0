"""How long each part of a recall takes as the store grows.

One machine's speed says little about another's, so what counts are ratios within one run: the same
queries at several sizes, on a temporary Postgres. Each query runs three times and its median
counts, which filters out noise of other processes but not the query's own cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter
from typing import Final

from recollect.core.recall.request import RecallRequest
from recollect.usecases.tasks import measure_ms
from recollect_bench.speed.agreement import Agreement, measure_agreement
from recollect_bench.speed.corpus import KINDS, Corpus, QueryKind
from recollect_bench.speed.rig import Filling, Progress, Rig
from recollect_bench.speed.storing import WITH, WITHOUT, time_storing

ROUNDS: Final = 3
TOP: Final = 10
# Store calls per round: enough for a p95, and too few to change the size of the store.
MIN_CALLS, MAX_CALLS = 20, 100
REAL: Final = "real questions"
WHOLE: Final = "whole"
# A whole recall without its second stage.
FUSED: Final = "fused"


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
    """The ratio of a whole recall without its second stage to what it must wait for, the embedding
    and the slowest leg: of the medians, and of the p95.
    """

    rows: int
    query_kind: str
    ratio: float
    p95_ratio: float


@dataclass(frozen=True, slots=True)
class SecondStage:
    """The ratio of a whole recall's p95 with its second stage to that without."""

    rows: int
    query_kind: str
    ratio: float


@dataclass(frozen=True, slots=True)
class Storing:
    """The ratio of the p95 of storing while a worker embeds to that without embedding; `embedded`
    is how many texts the worker embedded meanwhile.
    """

    rows: int
    ratio: float
    embedded: int


@dataclass(frozen=True, slots=True)
class Measured:
    """All measurements of one store. `degraded` counts the recalls, by size and leg, in which a leg
    was missing: their time is that of less work.
    """

    results: tuple[Timing, ...]
    filling: tuple[Filling, ...]
    agreement: tuple[Agreement, ...]
    storing: tuple[Storing, ...]
    degraded: dict[str, int]

    @property
    def growth(self) -> tuple[Growth, ...]:
        return _growth(self.results)

    @property
    def overhead(self) -> tuple[Overhead, ...]:
        return _overhead(self.results)

    @property
    def second_stage(self) -> tuple[SecondStage, ...]:
        return _second_stage(self.results)


async def measure(
    rig: Rig, corpus: Corpus, sizes: Sequence[int], *, queries: int, progress: Progress
) -> Measured:
    """Grow one store from size to size and ask the same questions at each."""
    questions = {kind: corpus.queries(kind, queries, sizes[0]) for kind in KINDS}
    real = rig.dense.questions if rig.dense is not None else ()
    compared = ("lexical",) if rig.dense is None or real else ("lexical", "dense")
    timings: list[Timing] = []
    filled: list[Filling] = []
    agreed: list[Agreement] = []
    storing: list[Storing] = []
    degraded: Counter[str] = Counter()
    stored = 0
    for size in sizes:
        filled.append(await rig.grow(corpus, stored, size, progress))
        stored = size
        for kind in KINDS:
            timings += await _time_recalls(rig, size, kind, questions[kind], degraded, progress)
            agreed += await measure_agreement(rig, size, kind, questions[kind], compared, progress)
        if real:
            agreed += await measure_agreement(rig, size, REAL, real, ("dense",), progress)
        progress(f"{size:,} rows, storing", 0, 1)
        stores = await time_storing(rig, corpus, min(max(queries, MIN_CALLS), MAX_CALLS))
        found = {kind: timing(size, "store", kind, took) for kind, took in stores.took.items()}
        timings += found.values()
        if WITH in found:
            ratio = round(found[WITH].p95_ms / found[WITHOUT].p95_ms, 2)
            storing.append(Storing(size, ratio, stores.embedded))
    return Measured(tuple(timings), tuple(filled), tuple(agreed), tuple(storing), dict(degraded))


async def _time_recalls(
    rig: Rig,
    rows: int,
    kind: QueryKind,
    questions: Sequence[str],
    degraded: Counter[str],
    progress: Progress,
) -> list[Timing]:
    """Time each part alone, then the whole recall as a caller sees it."""
    took: dict[str, list[float]] = {}
    for number, question in enumerate(questions, start=1):
        rounds: dict[str, list[float]] = {}
        for _ in range(ROUNDS):
            for part, ms in (await rig.time_parts(question)).items():
                rounds.setdefault(part, []).append(ms)
            for part, service in ((FUSED, rig.fused), (WHOLE, rig.recollect)):
                if service is None:
                    continue
                started = perf_counter()
                answer = await service.recall(RecallRequest(question, limit=TOP))
                rounds.setdefault(part, []).append(measure_ms(started))
                degraded.update(f"{rows:,} rows, {leg}" for leg in answer.degraded)
                if answer.rerank is not None and answer.rerank.status != "ran":
                    degraded[f"{rows:,} rows, second stage"] += 1
        for part, times in rounds.items():
            took.setdefault(part, []).append(median(times))
        progress(f"{rows:,} rows, {kind}", number, len(questions))
    return [timing(rows, part, kind, times) for part, times in took.items()]


def timing(rows: int, part: str, kind: str, took: Sequence[float]) -> Timing:
    """Summarize durations; the p95 is always between two measured values, however few there are."""
    p95 = quantiles(took, n=20, method="inclusive")[-1] if len(took) > 1 else took[0]
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
    p50 = {(timing.rows, timing.query_kind, timing.part): timing.p50_ms for timing in timings}
    p95 = {(timing.rows, timing.query_kind, timing.part): timing.p95_ms for timing in timings}
    return tuple(
        Overhead(rows, kind, _over_waiting(p50, rows, kind), _over_waiting(p95, rows, kind))
        for rows, kind, part in p50
        if part == WHOLE
    )


def _second_stage(timings: Sequence[Timing]) -> tuple[SecondStage, ...]:
    p95 = {(timing.rows, timing.query_kind, timing.part): timing.p95_ms for timing in timings}
    return tuple(
        SecondStage(rows, kind, round(p95[rows, kind, WHOLE] / fused, 2))
        for (rows, kind, part), fused in p95.items()
        if part == FUSED
    )


def _over_waiting(ms: Mapping[tuple[int, str, str], float], rows: int, kind: str) -> float:
    slowest = max(ms.get((rows, kind, leg), 0.0) for leg in ("lexical", "dense"))
    fused = ms.get((rows, kind, FUSED), ms[rows, kind, WHOLE])
    return round(fused / (ms.get((rows, kind, "embed"), 0.0) + slowest), 2)
