"""The report of `recollect bench scale`: tables for the terminal, JSON and Markdown.

All three are built from the same rows, so they never differ.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from recollect import __version__
from recollect_bench.scale.fill import TABLES
from recollect_bench.scale.measure import WITH_GRAPH
from recollect_bench.scale.stages import ONE, SMALL, SMALL_ALONE

Result = Mapping[str, Any]
BUSY: Final = "all at once:"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table, independent of its output format."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Ratio:
    """A p95 relative to its baseline: the smallest store, the owner alone, or an idle server."""

    name: str
    ratio: float


@dataclass(frozen=True, slots=True)
class ScaleReport:
    results: Sequence[Result]
    queries: int
    seed: int

    @property
    def ratios(self) -> list[Ratio]:
        return [*_growth(self.results), *_small_owner(self.results), *_busy(self.results)]

    def as_dict(self) -> dict[str, Any]:
        return {
            "results": list(self.results),
            "ratios": [{"name": row.name, "ratio": row.ratio} for row in self.ratios],
            "about": {
                "recollect": __version__,
                "python": platform.python_version(),
                "machine": platform.machine(),
                "cores": os.cpu_count(),
                "queries": self.queries,
                "seed": self.seed,
            },
        }

    def grids(self) -> list[Grid]:
        filling = ("store", "store s", "build s", "tables MB", "indexes MB", "Postgres MB")
        ratios = tuple((row.name, f"{row.ratio:.2f}") for row in self.ratios)
        return [
            *(_store_grid(result) for result in self.results),
            Grid("Filling, disk and memory", filling, tuple(map(_filling, self.results))),
            *(_disk_grid(result) for result in self.results),
            Grid("Ratios of the p95", ("what", "ratio"), ratios),
        ]


def show(report: ScaleReport, out: Console) -> None:
    for grid in report.grids():
        if grid.rows:
            table = Table(*grid.header, title=grid.title, title_justify="left", box=None)
            for row in grid.rows:
                table.add_row(*row)
            out.print(table)
            out.print()


def as_markdown(report: ScaleReport) -> str:
    return "\n".join(line for grid in report.grids() if grid.rows for line in _markdown(grid))


def _markdown(grid: Grid) -> Iterator[str]:
    yield f"## {grid.title}\n"
    yield f"| {' | '.join(grid.header)} |"
    yield f"|{'---|' * len(grid.header)}"
    for row in grid.rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _store_grid(result: Result) -> Grid:
    shares = {_key(row): f"{row['agreement']:.1%}" for row in result["agreement"]}
    header = ("whose", "work", "query", "calls", "p50 ms", "p95 ms", "as exact search")
    rows = [
        *((row, row["part"], shares.get(_key(row), "")) for row in result["timings"]),
        *((row, f"{BUSY} {row['part']}", "") for row in result["busy"]),
    ]
    return Grid(
        result["name"],
        header,
        tuple(
            (
                row["whose"],
                work,
                row["query"],
                f"{row['count']:,}",
                f"{row['p50_ms']:.1f}",
                f"{row['p95_ms']:.1f}",
                exact,
            )
            for row, work, exact in rows
        ),
    )


def _filling(result: Result) -> tuple[str, ...]:
    filling, sizes = result["filling"], result["sizes_mb"]
    indexes = sum(size for name, size in sizes.items() if name not in TABLES)
    postgres = result["memory"]["postgres_mb"]
    return (
        result["name"],
        f"{filling['store_s']:,.0f}",
        f"{sum(filling['build_s'].values()):,.0f}",
        f"{sum(sizes.values()) - indexes:,.0f}",
        f"{indexes:,.0f}",
        "–" if postgres is None else f"{postgres:,.0f}",
    )


def _disk_grid(result: Result) -> Grid:
    """List tables and indexes of at least a megabyte, largest first."""
    built = result["filling"]["build_s"]
    sizes = sorted(result["sizes_mb"].items(), key=lambda pair: -pair[1])
    rows = ((name, f"{size:,.0f}", _seconds(built.get(name))) for name, size in sizes if size >= 1)
    return Grid(f"{result['name']}: on disk", ("table or index", "MB", "built in s"), tuple(rows))


def _seconds(took: float | None) -> str:
    return "" if took is None else f"{took:,.1f}"


def _growth(results: Sequence[Result]) -> Iterator[Ratio]:
    """Compare one owner's larger stores with the smallest."""
    first, *larger = [_p95(result, ONE) for result in results if _has(result, ONE)] or [{}]
    names = [result["name"] for result in results if _has(result, ONE)]
    for name, found in zip(names[1:], larger, strict=True):
        for part, query in found:
            ratio = round(found[part, query] / first[part, query], 2)
            yield Ratio(f"{part}, {query}: {name} / {names[0]}", ratio)


def _small_owner(results: Sequence[Result]) -> Iterator[Ratio]:
    """Compare a small owner among others with the same owner alone."""
    alone = next((_p95(each, SMALL_ALONE) for each in results if _has(each, SMALL_ALONE)), {})
    for result in results:
        if _has(result, SMALL):
            for (part, query), p95 in _p95(result, SMALL).items():
                ratio = round(p95 / alone[part, query], 2)
                yield Ratio(f"{part}, {query}: small owner in {result['name']} / alone", ratio)


def _busy(results: Sequence[Result]) -> Iterator[Ratio]:
    """Compare recalls during all other work with recalls alone."""
    for result in results:
        for row in result["busy"]:
            if row["part"] == WITH_GRAPH:
                alone = _p95(result, row["whose"])[WITH_GRAPH, row["query"]]
                ratio = round(row["p95_ms"] / alone, 2)
                yield Ratio(f"recall, all at once / alone: {row['whose']}, {result['name']}", ratio)


def _key(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["whose"], row["part"], row["query"]


def _has(result: Result, whose: str) -> bool:
    return any(row["whose"] == whose for row in result["timings"])


def _p95(result: Result, whose: str) -> dict[tuple[str, str], float]:
    return {
        (row["part"], row["query"]): row["p95_ms"]
        for row in result["timings"]
        if row["whose"] == whose
    }
