"""Measure configurations on sets: each set is stored once for each requested layout.

Storing and embedding are nearly all of the cost, so configurations share a store where they can.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from recollect.core.errors import InvalidInput
from recollect.core.recall.settings import RecallSettings
from recollect.ports.embedding import Embedders
from recollect.ports.recall import Reranker
from recollect.settings import Settings
from recollect.wiring.context import catalogue, open_reranker
from recollect_bench.data.datasets import EvaluationSet
from recollect_bench.runs.configs import Config, Layout
from recollect_bench.runs.databases import Databases
from recollect_bench.runs.embedding_cache import CachedEmbedders, open_cache
from recollect_bench.runs.run import Run, Runner
from recollect_bench.runs.stage import NO_FACTS, Progress, staged
from recollect_bench.runs.yardstick import run_yardstick

TIMED: Final = 50
"""How many questions of a set are timed: enough for a meaningful p95."""

Work = tuple[EvaluationSet, Sequence[Config]]
"""A set, and the configurations to measure on it."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What measuring needs. `home` is a folder for temporary stores. `progress` shows the current
    step, `whole` the runs that are done.
    """

    home: Path
    databases: Databases
    embedders: Embedders
    reranker: Reranker | None
    progress: Progress
    whole: Progress


@asynccontextmanager
async def open_tools(
    settings: Settings,
    home: Path,
    progress: Progress,
    whole: Progress,
    *,
    keep_vectors: bool = True,
) -> AsyncIterator[Tools]:
    """Open what measuring needs. Models come from the user's own folder, and vectors are cached in
    the user's home, so that neither is built again for every run. For private texts, turn
    `keep_vectors` off.
    """

    def building(what: str, share: float) -> None:
        progress(what, round(100 * share), 100)

    async with AsyncExitStack() as opened:
        databases = Databases(home, settings.postgres_account)
        opened.push_async_callback(databases.stop)
        models: Embedders = await opened.enter_async_context(catalogue(settings, building))
        reranker = await opened.enter_async_context(open_reranker(settings))
        if keep_vectors:
            file = settings.home / "bench" / "embeddings.db"
            models = CachedEmbedders(models, opened.enter_context(open_cache(file)))
        yield Tools(home, databases, models, reranker, progress, whole)


async def measure(work: Sequence[Work], tools: Tools, *, timed: int = TIMED) -> list[Run]:
    """Measure a run for each set and configuration, in the given order. In each, `timed` questions
    are timed as well.
    """
    _check_second_stage([config for _, configs in work for config in configs], tools.reranker)
    _check_facts(work)
    total = sum(len(configs) for _, configs in work)
    done: dict[tuple[str, str], Run] = {}
    tools.whole("all runs", 0, total)
    for data, configs in work:
        for layout in dict.fromkeys(config.layout for config in configs):
            sharing = [config for config in configs if config.layout == layout]
            async with aclosing(_runs((data, sharing), layout, tools, timed)) as runs:
                async for run in runs:
                    done[data.name, run.config.name] = run
                    tools.whole("all runs", len(done), total)
    return [done[data.name, config.name] for data, configs in work for config in configs]


def _check_second_stage(configs: Sequence[Config], reranker: Reranker | None) -> None:
    for config in configs:
        stage = RecallSettings().changed(config.settings).second_stage
        if reranker is None and stage == "cross-encoder":
            raise InvalidInput(
                f"{config.name} reranks, but no reranker is configured",
                field="--configs",
                remedy="Set RECOLLECT_RERANKER, or leave out +rerank.",
            )


def _check_facts(work: Sequence[Work]) -> None:
    for data, configs in work:
        using = [config.name for config in configs if config.layout.graph == "given"]
        if using and not data.facts:
            raise InvalidInput(
                f"{using[0]} needs ready-made facts, but {data.name} has none",
                field="--configs",
                remedy=NO_FACTS,
            )


async def _runs(work: Work, layout: Layout, tools: Tools, timed: int) -> AsyncGenerator[Run, None]:
    """Measure the runs of one layout."""
    data, configs = work
    if layout.engine == "bm25s":
        for config in configs:
            yield run_yardstick(data, config, tools.progress, timed=timed)
        return
    embedders = tools.embedders if any(map(_uses_dense, configs)) else None
    tools.progress(f"{data.name}: starting a store", 0, len(data.documents))
    async with (
        _place(layout, tools) as place,
        staged(data, layout, embedders, place, tools.progress) as stage,
    ):
        runner = Runner(replace(stage, context=replace(stage.context, reranker=tools.reranker)))
        for config in configs:
            yield await runner.run(config, tools.progress, timed=timed)


@asynccontextmanager
async def _place(layout: Layout, tools: Tools) -> AsyncIterator[Path | str]:
    """Yield an empty folder or database for a store of this layout."""
    if layout.engine == "sqlite":
        with TemporaryDirectory(dir=tools.home) as folder:
            yield Path(folder)
    else:
        async with tools.databases.empty() as url:
            yield url


def _uses_dense(config: Config) -> bool:
    return RecallSettings().changed(config.settings).dense_weight > 0
