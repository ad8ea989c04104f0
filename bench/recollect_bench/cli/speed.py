"""`recollect bench speed`: how long recall takes as the store grows."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from psycopg import AsyncConnection
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from recollect.core.admin.modes import NO_EMBEDDER
from recollect.core.errors import InvalidInput
from recollect.settings import Settings, load
from recollect.shells.cli.framework.commands import Option
from recollect.usecases.priority import Callers
from recollect.usecases.recall.dense import dense_leg
from recollect.usecases.recall.late import LateStage
from recollect.usecases.service import LocalService
from recollect.wiring.context import build_context, catalogue
from recollect.wiring.postgres import open_postgres
from recollect.wiring.server import open_second_phase
from recollect_bench.cli.data import Data
from recollect_bench.cli.measuring import (
    ALL,
    check_writable,
    parse_sizes,
    report_console,
    select_sets,
)
from recollect_bench.speed.copying import allow_copy
from recollect_bench.speed.corpus import KINDS, OWNER, Corpus
from recollect_bench.speed.local import UNHURRIED, measure_local
from recollect_bench.speed.recall import Measured, measure
from recollect_bench.speed.report import SpeedReport, show, show_local
from recollect_bench.speed.rig import Dense, Documents, Rig
from recollect_bench.speed.server import measure_server
from recollect_bench.speed.vectors import Subjects
from recollect_bench.temporary import temporary_home


def speed(
    *,
    rows: Annotated[
        str, Option("--rows", help="Store sizes to measure, in memories, ascending.")
    ] = "5000,50000",
    queries: Annotated[
        int, Option("--queries", min=2, help="Number of queries of each kind.")
    ] = 100,
    passages: Annotated[
        int,
        Option("--passages", min=1, max=100, help="Passages in each memory: its text and vectors."),
    ] = 1,
    seed: Annotated[int, Option("--seed", help="Random seed for memories and queries.")] = 1,
    data: Data = None,
    dense: Annotated[
        bool,
        Option(
            "--dense/--no-dense",
            help="Also measure the dense leg, with the model in RECOLLECT_EMBEDDER.",
        ),
    ] = True,
    store: Annotated[
        str, Option("--store", help="Which store to measure: postgres or sqlite.")
    ] = "postgres",
    json_file: Annotated[
        Path | None, Option("--json", help="Also write the report to FILE as JSON.")
    ] = None,
) -> None:
    """Measure how long recall takes as the store grows, on a temporary embedded Postgres or, with
    --store sqlite, on a temporary local store. With --data, vectors and test questions come from
    real texts.
    """
    from recollect.adapters.postgres.embedded import EmbeddedPostgres

    sizes = parse_sizes(rows, "--rows", example="5000,300000", smallest=100)
    if json_file is not None:
        check_writable([json_file])
    corpus, yours = Corpus.seeded(seed, passages), load()
    subjects = Subjects.made_up(replace(corpus, passages=1), sizes[-1])
    if data is not None and dense:
        subjects = Subjects.of_sets(select_sets(data, ALL), seed)
    if store == "sqlite":
        _speed_of_local(yours, corpus, subjects, sizes, queries, json_file)
        return
    if store != "postgres":
        raise InvalidInput(
            f"{store!r} is not a store", field="--store", remedy="Choose postgres or sqlite."
        )
    embedder = yours.embedder if dense else NO_EMBEDDER
    with temporary_home() as home:
        with EmbeddedPostgres(home, account=yours.postgres_account) as url:
            mine = load(home=home, database_url=url, owner=OWNER)
            measuring = _measure_recall(
                mine, yours, url, embedder, corpus, subjects, sizes, queries
            )
            measured, embedder = asyncio.run(measuring)
        # The home's Postgres is stopped, so the server starts it as usual.
        server = measure_server(home, yours, embedder, corpus.queries(KINDS[0], 20, sizes[0]))
    report = SpeedReport(measured, server, tuple(sizes), queries, seed, passages)
    show(report, report_console())
    if json_file is not None:
        json_file.write_text(json.dumps(report.as_dict(), indent=2) + "\n")


def _speed_of_local(
    yours: Settings,
    corpus: Corpus,
    subjects: Subjects,
    sizes: list[int],
    queries: int,
    json_file: Path | None,
) -> None:
    with temporary_home() as home, _bar() as bar:
        task = bar.add_task("starting", total=None)

        def progress(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        measuring = measure_local(
            home, yours, corpus, subjects, sizes, queries=queries, progress=progress
        )
        measured = asyncio.run(measuring)
    show_local(measured, report_console())
    if json_file is not None:
        about = {"passages": corpus.passages, "seed": corpus.seed, "embedder": yours.embedder}
        document = {**measured.as_dict(), "about": {**about, "queries_per_kind": queries}}
        json_file.write_text(json.dumps(document, indent=2) + "\n")


async def _measure_recall(
    mine: Settings,
    yours: Settings,
    url: str,
    embedder: str,
    corpus: Corpus,
    subjects: Subjects,
    sizes: list[int],
    queries: int,
) -> tuple[Measured, str]:
    """Measure recall at each size; also return the name of the model that was used."""
    with _bar() as bar:
        task = bar.add_task("starting", total=None)

        def progress(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        def building(what: str, share: float) -> None:
            progress(what, round(100 * share), 100)

        callers = Callers()
        documents = Documents(callers.yield_to_callers)
        async with (
            open_postgres(mine) as (store, _),
            # The model is cached in the user's home, so it is not built again for every run.
            catalogue(yours, building, documents.yield_to_callers) as embedders,
            await AsyncConnection.connect(url, autocommit=True) as connection,
            open_second_phase(store, mine) as second_phase,
        ):
            await allow_copy(connection)
            context = replace(
                build_context(store, mine), callers=callers, second_phase=second_phase
            )
            dense = fused = None
            if store.vectors is None:
                bar.console.print(f"skipping the dense leg: {store.vector_note}")
            elif embedder != NO_EMBEDDER:
                dense = await Dense.open(store.vectors, embedders, embedder, subjects, progress)
                legs = {**context.legs, "dense": dense_leg(store.vectors, embedders)}
                context = replace(context, legs=legs)
                if dense.samples.blocks:
                    off = replace(context.default_settings, second_stage="off")
                    fused = LocalService(replace(context, default_settings=off), OWNER)
                    context = replace(context, late=LateStage(store.vectors, embedders))
            recollect = LocalService(context, OWNER)
            # On a busy machine a leg should be slow here, not skipped.
            await recollect.change_settings(UNHURRIED)
            rig = Rig(store, connection, recollect, dense, fused, documents)
            found = await measure(rig, corpus, sizes, queries=queries, progress=progress)
            return found, NO_EMBEDDER if dense is None else embedder


def _bar() -> Bar:
    return Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True, highlight=False),
        transient=True,
    )
