"""How long each part of a recall takes as the store grows.

A machine's speed says little about another's, so what counts are ratios within one run: the same
queries at several sizes, on a throw-away Postgres of this run's own. Each query runs three times
and its median counts, which takes out a neighbour's noise but not the query's own cost.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import mean, median, quantiles
from time import perf_counter
from typing import Any, Final

from recollect import __version__
from recollect.adapters.postgres.store import PostgresStore
from recollect.bench.corpus import KINDS, OWNER, Corpus, QueryKind
from recollect.core.ids import uuid7
from recollect.core.memory import EVERYWHERE, Draft, Scope
from recollect.core.recall import RecallRequest
from recollect.ports import Recollect, WordQuery

ROUNDS: Final = 3
TOP: Final = 10
STORE_CALLS: Final = 100
SCOPES: Final = {"all": EVERYWHERE, "10%": Scope(project="medium"), "1%": Scope(project="small")}

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
class Agreement:
    """How much of the unbounded query's top ten the bounded one found, on average."""

    rows: int
    query_kind: str
    scope: str
    agreement: float


@dataclass(frozen=True, slots=True)
class Growth:
    """The p95 at the largest size over the p95 at the smallest."""

    part: str
    query_kind: str
    ratio: float


@dataclass(frozen=True, slots=True)
class SpeedReport:
    results: tuple[Timing, ...]
    agreement: tuple[Agreement, ...]
    growth: tuple[Growth, ...]
    about: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


async def measure(
    store: PostgresStore,
    recollect: Recollect,
    sizes: Sequence[int],
    *,
    queries: int,
    seed: int,
    progress: Progress,
) -> SpeedReport:
    """Grow one store from size to size and put the same questions at each."""
    corpus = Corpus.seeded(seed)
    questions = {kind: corpus.queries(kind, queries, sizes[0]) for kind in KINDS}
    timings: list[Timing] = []
    agreements: list[Agreement] = []
    stored = 0
    for size in sizes:
        await _grow(store, corpus, stored, size, progress)
        stored = size
        for kind in KINDS:
            progress(f"{size:,} rows, {kind}", 0, queries)
            timings += await _time_recalls(recollect, size, kind, questions[kind], progress)
            agreements += await _agreements(store, size, kind, questions[kind])
        timings.append(await _time_storing(recollect, size, corpus))
    return SpeedReport(
        tuple(timings), tuple(agreements), _growth(timings), _about(sizes, queries, seed)
    )


async def _grow(
    store: PostgresStore, corpus: Corpus, first: int, last: int, progress: Progress
) -> None:
    batch = 5_000
    for start in range(first, last, batch):
        end = min(start + batch, last)
        await store.add_many(corpus.memories(start, end))
        progress(f"storing {last:,} memories", end - first, last - first)
    await store.maintain()


async def _time_recalls(
    recollect: Recollect, rows: int, kind: QueryKind, questions: Sequence[str], progress: Progress
) -> list[Timing]:
    whole: list[float] = []
    lexical: list[float] = []
    for number, question in enumerate(questions, start=1):
        wholes: list[float] = []
        legs: list[float] = []
        for _ in range(ROUNDS):
            started = perf_counter()
            answer = await recollect.recall(RecallRequest(question, limit=TOP))
            wholes.append((perf_counter() - started) * 1000)
            legs.append(answer.legs["lexical"].took_ms)
        whole.append(median(wholes))
        lexical.append(median(legs))
        progress(f"{rows:,} rows, {kind}", number, len(questions))
    return [_timing(rows, "lexical", kind, lexical), _timing(rows, "whole", kind, whole)]


async def _agreements(
    store: PostgresStore, rows: int, kind: QueryKind, questions: Sequence[str]
) -> list[Agreement]:
    found: list[Agreement] = []
    for name, scope in SCOPES.items():
        shares: list[float] = []
        for question in questions:
            query = WordQuery(question, depth=TOP)
            exhaustive = replace(query, ranking="idf_exhaustive")
            wanted = {hit.id for hit in await store.search_words(OWNER, scope, exhaustive)}
            got = {hit.id for hit in await store.search_words(OWNER, scope, query)}
            if wanted:
                shares.append(len(wanted & got) / len(wanted))
        found.append(Agreement(rows, kind, name, round(mean(shares), 4) if shares else 1.0))
    return found


async def _time_storing(recollect: Recollect, rows: int, corpus: Corpus) -> Timing:
    """Storing at this size; what was stored is erased again, so that sizes stay true."""
    took: list[float] = []
    for memory in corpus.memories(10_000_000 + rows, 10_000_000 + rows + STORE_CALLS):
        draft = Draft(memory.content, id=uuid7(memory.created_at, os.urandom(10)))
        started = perf_counter()
        kept = await recollect.remember(draft)
        took.append((perf_counter() - started) * 1000)
        await recollect.forget(str(kept.id), forever=True)
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
