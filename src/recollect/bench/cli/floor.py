"""`recollect bench floor`: how relevant a memory must be to be injected into a prompt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from recollect.bench.cli.data import Data
from recollect.bench.cli.measuring import ALL, check_writable, select_sets
from recollect.bench.cli.sync import progress_bar
from recollect.bench.data.datasets import EvaluationSet
from recollect.bench.runs.configs import Layout
from recollect.bench.runs.embedding_cache import CachedEmbedders, open_cache
from recollect.bench.runs.stage import Progress, staged, wake
from recollect.bench.studies.floor import (
    Asked,
    FloorRow,
    ask_meaning,
    ask_words,
    build_prompts,
    table,
)
from recollect.core.recall.relevance import COSINE_FLOOR, FLOOR
from recollect.settings import Settings, load
from recollect.wiring import catalogue

WORD_FLOORS: Final = (2.0, 2.5, 3.0, 3.2, FLOOR, 3.6, 3.8, 4.0, 4.5, 5.0)
COSINE_FLOORS: Final = (0.25, 0.3, 0.35, 0.4, COSINE_FLOOR, 0.5, 0.55, 0.6)


def floor(
    *,
    data: Data = None,
    sets: Annotated[
        str, typer.Option(help="Sets to use: names separated by commas, or all.")
    ] = ALL,
    dense: Annotated[
        bool, typer.Option(help="Also measure by meaning, with the model in RECOLLECT_EMBEDDER.")
    ] = True,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for choosing questions.")] = 1,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write the report to FILE as JSON.")
    ] = None,
) -> None:
    """Show how many answers each relevance floor loses, and how many unrelated prompts pass it."""
    if json_file is not None:
        check_writable([json_file])
    chosen, settings = select_sets(data, sets), load()
    with progress_bar() as progress:
        words, meaning = asyncio.run(_measure(chosen, settings, seed, progress, dense=dense))
    by_words = table(words, WORD_FLOORS)
    by_meaning = table(meaning, COSINE_FLOORS)
    console = Console(highlight=False)
    console.print(_build_table("by words", by_words))
    if dense:
        console.print(_build_table("by meaning", by_meaning))
    if json_file is not None:
        document = {
            "sets": [data.name for data in chosen],
            "words": [asdict(row) for row in by_words],
            "meaning": [asdict(row) for row in by_meaning] if dense else [],
        }
        json_file.write_text(json.dumps(document, indent=2) + "\n")


async def _measure(
    sets: Sequence[EvaluationSet],
    settings: Settings,
    seed: int,
    progress: Progress,
    *,
    dense: bool,
) -> tuple[list[Asked], list[Asked]]:
    words: list[Asked] = []
    meaning: list[Asked] = []
    for data in sets:
        asked = list(build_prompts(data, sets, seed))
        with TemporaryDirectory(prefix="recollect-bench-") as folder:
            local = Layout(engine="sqlite")
            async with staged(data, local, None, Path(folder), progress) as stage:
                words += await ask_words(stage, asked, progress)
        if dense:
            file = settings.home / "bench" / "embeddings.db"
            with open_cache(file) as cache:
                async with catalogue(settings, lambda *_: None) as models:
                    embedder = await CachedEmbedders(models, cache).embedder(settings.embedder)
                    await wake(embedder)
                    meaning += await ask_meaning(data, asked, embedder, progress)
    return words, meaning


def _build_table(title: str, rows: Sequence[FloorRow]) -> Table:
    shown = Table(
        title,
        "answers lost %",
        "questions unanswered %",
        "other sets' prompts %",
        "everyday prompts %",
        box=None,
        pad_edge=False,
    )
    for row in rows:
        marks = (row.lost, row.silent, row.strange, row.everyday)
        shown.add_row(f"{row.floor:g}", *(f"{mark:.1f}" for mark in marks))
    return shown
