"""`recollect bench hook`: how long a hook delays a prompt, with and without a server."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.table import Table

import recollect
from recollect.settings import load
from recollect.shells.cli.framework.commands import Option
from recollect.usecases.sync.sync import sync
from recollect.wiring.local import is_available, open_cached, open_service
from recollect_bench.cli.measuring import check_writable, report_console
from recollect_bench.cli.sync import progress_bar, temporary_server
from recollect_bench.speed.corpus import Corpus
from recollect_bench.speed.hook import (
    HookResult,
    Progress,
    as_document,
    embed_all,
    fill,
    forget_pages,
    session,
    stalling_server,
    summarize,
    time_calls,
)


@dataclass(frozen=True, slots=True)
class _State:
    name: str
    settings: dict[str, str]
    prepare: Callable[[], None] = lambda: None


def hook(
    *,
    calls: Annotated[int, Option("--calls", min=1, help="Number of calls in each state.")] = 200,
    rows: Annotated[int, Option("--rows", min=1, help="Number of memories in each store.")] = 1_000,
    seed: Annotated[int, Option("--seed", help="Random seed for memories and prompts.")] = 1,
    json_file: Annotated[
        Path | None, Option("--json", help="Also write the report to FILE as JSON.")
    ] = None,
) -> None:
    """Time `recollect hook recall`: cold, warm, next to a session that holds the model, and with a
    running, stopped and stalled server.
    """
    if json_file is not None:
        check_writable([json_file])
    budget = load().hook_budget_ms
    corpus = Corpus.seeded(seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="recollect-bench-")))
        folder.chmod(0o711)  # as root, Postgres runs as another account that needs access
        progress = stack.enter_context(progress_bar())
        questions = asyncio.run(_fill_local(folder / "local", corpus, rows, progress))
        results: list[HookResult] = []

        def measure(state: _State) -> None:
            variables = _variables(state.settings, budget)
            timed = time_calls(state.name, calls, variables, questions, progress, state.prepare)
            results.append(summarize(state.name, timed, budget))

        local = {"RECOLLECT_HOME": str(folder / "local")}
        package = Path(recollect.__file__).parent
        measure(_State("cold", local, lambda: forget_pages(package, folder / "local")))
        measure(_State("warm", local))
        if is_available(load(), load().embedder):
            models = load().models_folder
            model = {**local, "RECOLLECT_MODELS": str(models)}
            asyncio.run(embed_all(load(home=folder / "local", api_url=None, models=models)))
            # Everything is embedded: the measured session has nothing else to do.
            with session({**_variables(model, budget), "RECOLLECT_WORKER": "off"}):
                measure(_State("resident", model))
        else:
            Console(stderr=True).print(
                "Skipping `resident`: run `recollect models get minilm` first."
            )
        with temporary_server(folder / "server") as (url, key):
            cached = {
                "RECOLLECT_HOME": str(folder / "cached"),
                "RECOLLECT_API_URL": url,
                "RECOLLECT_API_KEY": key,
            }
            asyncio.run(_fill_cached(folder / "cached", url, key, corpus, rows, progress))
            measure(_State("server", cached))
        measure(_State("stopped", cached))
        stalled = stack.enter_context(stalling_server())
        measure(_State("stalled", {**cached, "RECOLLECT_API_URL": stalled}))
    report_console().print(_table(results, budget))
    if json_file is not None:
        document = as_document(results, budget, rows)
        json_file.write_text(json.dumps(document, indent=2) + "\n")


async def _fill_local(home: Path, corpus: Corpus, rows: int, progress: Progress) -> list[str]:
    async with open_service(load(home=home, api_url=None)) as memory:
        return await fill(memory, corpus, rows, progress)


async def _fill_cached(
    home: Path, url: str, key: str, corpus: Corpus, rows: int, progress: Progress
) -> None:
    async with open_cached(load(home=home, api_url=url, api_key=key)) as cached:
        await fill(cached.service, corpus, rows, progress)
        await sync(cached.sync, cached.server, cached.clock, lambda *_: None)


def _variables(settings: dict[str, str], budget: int) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if "RECOLLECT_" not in name}
    return {**inherited, **settings, "RECOLLECT_HOOK_BUDGET_MS": str(budget)}


def _table(results: list[HookResult], budget: int) -> Table:
    table = Table(
        "state", "calls", "answered", "by session", "p50 ms", "p95 ms", "max ms", "failed",
        f"over {budget} ms", box=None, pad_edge=False,
    )  # fmt: skip
    for result in results:
        table.add_row(
            result.state,
            f"{result.calls}",
            f"{result.answered}",
            f"{result.by_session}",
            f"{result.p50_ms:.0f}",
            f"{result.p95_ms:.0f}",
            f"{result.max_ms:.0f}",
            f"{result.nonzero_exits}",
            f"{result.over_budget}",
        )
    return table
