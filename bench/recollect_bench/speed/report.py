"""The report of `recollect bench speed`, for people and as JSON, with the limits it should meet."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from recollect import __version__
from recollect_bench.speed.local import LocalSpeed
from recollect_bench.speed.recall import REAL, ROUNDS, Measured
from recollect_bench.speed.server import ServerCost

# Limits for a whole recall relative to what it has to wait for, and in the largest store relative
# to the smallest. Storing should not be slowed down by the worker, but two runs of the same hundred
# calls differ by as much as MAX_STORING.
OVERHEAD: Final = "fused / (embedding + slowest leg)"
MAX_OVERHEAD: Final = 1.3
MAX_GROWTH: Final = 4.0
GROWTH_GOAL: Final = 2.0
MAX_SECOND_STAGE: Final = 1.3
MAX_STORING: Final = 1.2
MAX_MISSED: Final = 0.02


@dataclass(frozen=True, slots=True)
class Bar:
    """The worst case of one ratio, and its limit."""

    name: str
    worst: float
    bar: float
    holds: bool
    goal: float | None = None


@dataclass(frozen=True, slots=True)
class SpeedReport:
    measured: Measured
    server: ServerCost
    sizes: tuple[int, ...]
    queries: int
    seed: int
    passages: int = 1

    @property
    def bars(self) -> list[Bar]:
        measured = self.measured
        overhead = measured.overhead
        whole = [growth.ratio for growth in measured.growth if growth.part == "whole"]
        storing = [storing.ratio for storing in measured.storing]
        bars = [
            _bar(f"{OVERHEAD}, p50", [row.ratio for row in overhead], MAX_OVERHEAD),
            _bar(f"{OVERHEAD}, p95", [row.p95_ratio for row in overhead], MAX_OVERHEAD),
            _bar("growth of the whole's p95", whole, MAX_GROWTH, GROWTH_GOAL),
        ]
        second = [row.ratio for row in measured.second_stage]
        if second:
            bars.append(_bar("with / without the second stage, p95", second, MAX_SECOND_STAGE))
        if storing:
            bars.append(_bar("storing with / without embedding", storing, MAX_STORING))
        missed = [
            1 - agreement.agreement
            for agreement in measured.agreement
            if agreement.query_kind == REAL
        ]
        if missed:
            bars.append(_bar("share of the exact dense answer that is missed", missed, MAX_MISSED))
        return bars

    def as_dict(self) -> dict[str, Any]:
        measured = self.measured
        return {
            "results": [asdict(result) for result in measured.results],
            "bars": [asdict(bar) for bar in self.bars],
            "overhead": [asdict(overhead) for overhead in measured.overhead],
            "growth": [asdict(growth) for growth in measured.growth],
            "second_stage": [asdict(second) for second in measured.second_stage],
            "storing": [asdict(storing) for storing in measured.storing],
            "server": asdict(self.server),
            "agreement": [asdict(agreement) for agreement in measured.agreement],
            "filling": [asdict(filling) for filling in measured.filling],
            "degraded": measured.degraded,
            "about": {
                "recollect": __version__,
                "python": platform.python_version(),
                "machine": platform.machine(),
                "cores": os.cpu_count(),
                "embedder": self.server.embedder,
                "sizes": list(self.sizes),
                "passages": self.passages,
                "queries_per_kind": self.queries,
                "rounds": ROUNDS,
                "seed": self.seed,
            },
        }


def _bar(name: str, ratios: Sequence[float], bar: float, goal: float | None = None) -> Bar:
    return Bar(name, max(ratios), bar, max(ratios) <= bar, goal)


def show(report: SpeedReport, out: Console) -> None:
    out.print(_timings(report))
    out.print(_agreement(report.measured))
    out.print(_overhead(report.measured))
    for filling in report.measured.filling:
        out.print(
            f"{filling.rows:,} rows: {filling.size_mb:,.0f} MB on disk, stored in "
            f"{filling.store_s:,.0f} s, indexed in {filling.index_s:,.0f} s"
        )
    for storing in report.measured.storing:
        out.print(f"{storing.rows:,} rows: storing takes {storing.ratio:.2f} × with a worker (p95)")
    for leg, times in report.measured.degraded.items():
        out.print(f"{leg}: missing from {times} recalls")
    server = report.server
    out.print(f"recollect serve: {server.start_up_s:.1f} s from its start to a healthy answer")
    out.print(f"recollect serve: {server.resident_mb:.0f} MB resident, embedder {server.embedder}")
    if server.with_postgres_mb is not None:
        out.print(
            f"with its Postgres: {server.with_postgres_mb:.0f} MB, shared memory counted once"
        )
    for bar in report.bars:
        limit = f"at most {bar.bar:g}" + (f", better {bar.goal:g}" if bar.goal else "")
        out.print(f"{'ok' if bar.holds else 'NO'}  {bar.name}: {bar.worst:.2f} ({limit})")


def _timings(report: SpeedReport) -> Table:
    sizes = report.sizes
    table = Table("part", "query", *(f"{size:,} rows, p50 / p95 ms" for size in sizes), "growth")
    cells = {
        (result.part, result.query_kind, result.rows): result for result in report.measured.results
    }
    for growth in report.measured.growth:
        columns = [cells[growth.part, growth.query_kind, size] for size in sizes]
        table.add_row(
            growth.part,
            growth.query_kind,
            *(f"{column.p50_ms:.1f} / {column.p95_ms:.1f}" for column in columns),
            f"{growth.ratio:.2f} ×",
        )
    return table


def _agreement(measured: Measured) -> Table:
    scopes = list(dict.fromkeys(agreement.scope for agreement in measured.agreement))
    table = Table(
        "rows", "leg", "query", *(f"in {scope}" for scope in scopes), title="as exhaustive search"
    )
    shares = {
        (agreement.rows, agreement.part, agreement.query_kind, agreement.scope): agreement.agreement
        for agreement in measured.agreement
    }
    for rows, part, kind in dict.fromkeys(key[:3] for key in shares):
        found = (f"{100 * shares[rows, part, kind, scope]:.1f} %" for scope in scopes)
        table.add_row(f"{rows:,}", part, kind, *found)
    return table


def _overhead(measured: Measured) -> Table:
    table = Table("rows", "query", f"{OVERHEAD}, p50", "p95")
    for overhead in measured.overhead:
        table.add_row(
            f"{overhead.rows:,}",
            overhead.query_kind,
            f"{overhead.ratio:.2f}",
            f"{overhead.p95_ratio:.2f}",
        )
    return table


def show_local(measured: LocalSpeed, out: Console) -> None:
    timings = Table("rows", "part", "queries", "p50 ms", "p95 ms", title="local store")
    for result in measured.results:
        timings.add_row(
            f"{result.rows:,}",
            result.part,
            result.query_kind,
            f"{result.p50_ms:.1f}",
            f"{result.p95_ms:.1f}",
        )
    out.print(timings)
    for found in measured.footprints:
        out.print(
            f"{found.rows:,} rows: file {found.file_mb:,.1f} MB, {found.vector_bytes:,} bytes a "
            f"vector; {found.matrix_mb:,.1f} MB of memory, read in {found.load_ms:,.0f} ms by the "
            f"first search; findable by meaning {found.findable_ms:,.0f} ms after `remember`"
        )
