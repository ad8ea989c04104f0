"""`recollect bench models`: what embedding models cost, and how well they find by meaning."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

from rich.table import Table

from recollect.settings import Settings, load
from recollect.shells.cli.framework.commands import Option
from recollect.wiring.context import catalogue
from recollect_bench.cli.data import Data
from recollect_bench.cli.measuring import ALL, check_writable, report_console, select_sets
from recollect_bench.cli.sync import progress_bar
from recollect_bench.data.datasets import EvaluationSet
from recollect_bench.runs.embedding_cache import CachedEmbedders, open_cache
from recollect_bench.runs.stage import wake
from recollect_bench.speed.models import (
    Cost,
    Progress,
    Quality,
    measure_cost,
    measure_quality,
    texts_with_context,
)

_QUERIES: Final = 100
_DOCUMENTS: Final = 100


def models(
    *,
    data: Data = None,
    sets: Annotated[
        str, Option("--sets", help="Sets to use: names separated by commas, or all.")
    ] = ALL,
    names: Annotated[
        str, Option("--models", help="Models to compare, separated by commas.")
    ] = "minilm,granite-30m,gte-small,multilingual",
    json_file: Annotated[
        Path | None, Option("--json", help="Also write the report to FILE as JSON.")
    ] = None,
) -> None:
    """Compare embedding models: cost, and quality by meaning alone. Resumes where it stopped."""
    if json_file is not None:
        check_writable([json_file])
    chosen, settings = select_sets(data, sets), load()
    compared = [name.strip() for name in names.split(",")]
    with progress_bar() as progress:
        qualities = asyncio.run(_measure_qualities(chosen, settings, compared, progress))
        costs = _measure_costs(chosen[0], settings, compared, progress)
    console = report_console()
    console.print(_cost_table(costs))
    console.print(_quality_table(qualities, compared))
    if json_file is not None:
        document = {
            "costs": [asdict(cost) for cost in costs],
            "quality": [asdict(quality) for quality in qualities],
        }
        json_file.write_text(json.dumps(document, indent=2) + "\n")


async def _measure_qualities(
    sets: Sequence[EvaluationSet], settings: Settings, names: Sequence[str], progress: Progress
) -> list[Quality]:
    qualities: list[Quality] = []
    with open_cache(settings.home / "bench" / "embeddings.db") as cache:
        async with catalogue(settings, lambda *_: None) as found:
            for name in names:
                embedder = await CachedEmbedders(found, cache).embedder(name)
                await wake(embedder)
                qualities += [
                    await measure_quality(data, name, embedder, progress) for data in sets
                ]
    return qualities


def _measure_costs(
    data: EvaluationSet, settings: Settings, names: Sequence[str], progress: Progress
) -> list[Cost]:
    queries = [question.text for question in data.questions[:_QUERIES]]
    documents = texts_with_context(data)[:_DOCUMENTS]
    costs = []
    for number, name in enumerate(names):
        progress("measuring costs", number, len(names))
        costs.append(measure_cost(settings, name, queries, documents))
    return costs


def _cost_table(costs: Sequence[Cost]) -> Table:
    columns = (
        "query ms",
        "query CPU ms",
        "CPU s per 1,000 texts",
        "with tokens",
        "token bytes per text",
        "resident MB",
        "disk MB",
    )
    shown = Table("model", *columns, box=None, pad_edge=False)
    for cost in costs:
        numbers = (
            cost.query_ms,
            cost.query_cpu_ms,
            cost.cpu_s_per_1000_documents,
            cost.cpu_s_per_1000_with_tokens,
            cost.token_bytes_per_document,
            cost.resident_mb,
            cost.disk_mb,
        )
        shown.add_row(cost.model, *("" if number is None else f"{number:g}" for number in numbers))
    return shown


def _quality_table(qualities: Sequence[Quality], names: Sequence[str]) -> Table:
    shown = Table("R@10 / nDCG@10 / RR", *names, box=None, pad_edge=False)
    for name in dict.fromkeys(quality.set for quality in qualities):
        found = {quality.model: quality for quality in qualities if quality.set == name}
        row = (found[model] for model in names)
        shown.add_row(name, *(f"{q.r_at_10} / {q.ndcg_at_10} / {q.mean_rr}" for q in row))
    return shown
