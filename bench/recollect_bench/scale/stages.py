"""The stages of a run, and the file that records which are done.

A stage is a store of one size in a database of a Postgres in `home`. Stages with the same database
grow it. The result of a stage is written to the state file immediately; a later run on the same
folder skips the stage, and continues a fill where it stopped.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from psycopg import AsyncConnection

from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.walkers.pagerank import PageRank
from recollect.core.errors import InvalidInput, StoreError, StoreFull
from recollect.settings import Settings, load
from recollect.usecases.recall.dense import dense_leg
from recollect.usecases.recall.graph_leg import GraphLeg
from recollect.usecases.tasks import cancel_and_wait
from recollect.wiring.context import build_context
from recollect.wiring.postgres import open_postgres
from recollect_bench.runs.databases import Databases
from recollect_bench.scale.clusters import NAME, Clusters
from recollect_bench.scale.fill import TABLES, VECTORS, Filler, Progress
from recollect_bench.scale.measure import Rig, View, measure_busy, measure_view
from recollect_bench.scale.population import Population
from recollect_bench.speed.server import postgres_pids, proportional_mb, resident_mb

STATE: Final = "scale.json"
ONE, SMALL_ALONE, SMALL, LARGE, ANY = (
    "one owner",
    "small owner, alone",
    "small owner",
    "large owner",
    "any owner",
)
_ANY_OWNERS: Final = 20
_DEADLINE_MS: Final = 60_000
_SAMPLE_SECONDS: Final = 1.0
# Measured: 4.4 KB per memory with all tables and indexes, plus space for sorting during index
# builds, dead rows and the write-ahead log.
BYTES_PER_MEMORY: Final = 8_000
MIN_BYTES: Final = 2 * 10**9

_RELATIONS: Final = """
select c.relname, pg_table_size(c.oid) from pg_class c where c.oid = any(%(tables)s::regclass[])
union all
select case a.amname when 'hnsw' then %(vectors)s else i.relname end, sum(pg_relation_size(i.oid))
from pg_index x join pg_class i on i.oid = x.indexrelid join pg_am a on a.oid = i.relam
where x.indrelid = any(%(tables)s::regclass[])
group by 1
order by 1
"""


@dataclass(frozen=True, slots=True)
class Stage:
    """`rows` of a population in a database, and the owners to ask there."""

    name: str
    database: str
    population: Population
    rows: int
    views: tuple[View, ...]

    @property
    def owners(self) -> int:
        return sum(1 for _ in self.population.slices(0, self.rows))


def plan_rows(sizes: Sequence[int], seed: int) -> list[Stage]:
    """Plan one owner whose store grows from size to size."""
    stages: list[Stage] = []
    for rows in sizes:
        population = Population.single(rows, seed)
        view = View(ONE, population.owners)
        stages.append(Stage(f"{rows:,} memories, 1 owner", "rows", population, rows, (view,)))
    return stages


def plan_owners(owners: int, total: int, seed: int) -> list[Stage]:
    """Plan a small owner among all the others, and right afterwards alone in a store of its own,
    because the load of a machine changes over time.
    """
    population = Population.mixed(owners, total, seed)
    small, database = population.small, f"owners_{owners}_{total}"
    views = (
        View(LARGE, (population.large,)),
        View(ANY, tuple(population.some(_ANY_OWNERS))),
        View(SMALL, (small,)),
    )
    among = f"of {owners:,} owners"
    alone = Stage(
        f"{small.rows:,} memories, 1 {among}",
        f"{database}_alone",
        replace(population, owners=(small,)),
        small.rows,
        (View(SMALL_ALONE, (small,)),),
    )
    return [Stage(f"{total:,} memories {among}", database, population, total, views), alone]


def check_room(folder: Path, stages: Sequence[Stage]) -> None:
    """Check for enough disk space before hours of filling."""
    largest = {stage.database: stage.rows for stage in sorted(stages, key=lambda each: each.rows)}
    needed = MIN_BYTES + BYTES_PER_MEMORY * sum(largest.values())
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise StoreFull(
            f"{folder} has {free / 1e9:.1f} GB free, and these stages need about "
            f"{needed / 1e9:.1f} GB",
            remedy="Name a folder on a larger disk with --folder, or measure fewer memories.",
        )


class State:
    """The results so far, in a file of the folder."""

    def __init__(self, folder: Path, options: dict[str, Any]) -> None:
        """`options` are those that all results of a folder share."""
        self._file = folder / STATE
        self._options = options
        self.results: dict[str, dict[str, Any]] = {}
        if self._file.exists():
            stored = json.loads(self._file.read_text())
            if stored["options"] != options:
                former = " ".join(f"--{name} {value}" for name, value in stored["options"].items())
                raise InvalidInput(
                    f"{folder} has results for other options: {former}",
                    field="--folder",
                    remedy="Use these options again, or another folder.",
                )
            self.results = stored["results"]

    def add(self, stage: Stage, result: dict[str, Any]) -> None:
        """Add a result and replace the file atomically, so that a killed run leaves the old one."""
        self.results[stage.name] = result
        text = json.dumps({"options": self._options, "results": self.results}, indent=2)
        new = self._file.with_suffix(".new")
        new.write_text(f"{text}\n")
        new.replace(self._file)


async def run_stages(
    home: Path,
    stages: Sequence[Stage],
    state: State,
    *,
    account: str,
    seed: int,
    queries: int,
    progress: Progress,
) -> None:
    """Run the stages that have no result yet."""
    databases = Databases(home, account)
    clusters = Clusters(seed)
    try:
        for stage in stages:
            if stage.name in state.results:
                continue
            progress("starting Postgres", 0, 1)
            url, admin_url = await databases.create_persistent(stage.database)
            mine = load(home=home, database_url=url)
            async with _sample_memory(home) as memory:
                result = await _run(stage, mine, admin_url, clusters, queries, progress)
            state.add(stage, {**result, "memory": memory})
    finally:
        await databases.stop()


async def _run(
    stage: Stage,
    settings: Settings,
    admin_url: str,
    clusters: Clusters,
    queries: int,
    progress: Progress,
) -> dict[str, Any]:
    async with (
        open_postgres(settings) as (store, _),
        await AsyncConnection.connect(admin_url, autocommit=True) as connection,
        PageRank(store.graph) as walker,
    ):
        rig = await _open_rig(stage, settings, store, connection, walker, clusters)
        await rig.erase_written()
        filler = Filler(connection, store, rig.vectors, rig.space, clusters)
        filling = await filler.fill_to(stage.population, stage.rows, progress)
        timings, agreements, busy = [], [], []
        for view in stage.views:
            found = await measure_view(rig, view, queries, progress)
            timings += found[0]
            agreements += found[1]
            busy += await measure_busy(rig, view, queries, progress)
        return {
            "name": stage.name,
            "owners": stage.owners,
            "filling": asdict(filling),
            "timings": [asdict(row) for row in timings],
            "agreement": [asdict(row) for row in agreements],
            "busy": [asdict(row) for row in busy],
            "missing_legs": dict(rig.missing),
            "sizes_mb": await _sizes(connection),
        }


async def _open_rig(
    stage: Stage,
    settings: Settings,
    store: PostgresStore,
    connection: AsyncConnection[Any],
    walker: PageRank,
    clusters: Clusters,
) -> Rig:
    if store.vectors is None:
        raise StoreError(
            "this Postgres cannot store vectors, so there is nothing to measure",
            remedy=f"{store.vector_note}.",
        )
    vectors = store.vectors
    space = await vectors.open_space(NAME, clusters.space)
    await vectors.claim(space, 1)  # returns nothing, and records that no memory was missed
    plain = build_context(store, settings)
    plain = replace(
        plain,
        legs={**plain.legs, "dense": dense_leg(vectors, clusters)},
        # On a busy machine recall should be slow here, rather than skip a leg or fail.
        default_settings=replace(plain.default_settings, deadline_ms=_DEADLINE_MS),
    )
    with_graph = replace(plain, second_phase={"graph": GraphLeg(walker, store)})
    return Rig(
        store,
        connection,
        vectors,
        space,
        clusters,
        plain,
        with_graph,
        walker,
        stage.population,
    )


async def _sizes(connection: AsyncConnection[Any]) -> dict[str, float]:
    """Return the size of every table without its indexes, and of every index."""
    cursor = await connection.execute(_RELATIONS, {"tables": list(TABLES), "vectors": VECTORS})
    return {name: round(int(size) / 2**20, 2) for name, size in await cursor.fetchall()}


@asynccontextmanager
async def _sample_memory(home: Path) -> AsyncIterator[dict[str, float | None]]:
    """Sample the memory of Postgres and this process once a second inside the block; yield the
    peaks. That of Postgres is None where the system does not report it.
    """
    peak: dict[str, float | None] = {"postgres_mb": None, "process_mb": 0.0}

    async def sample() -> None:
        while True:
            postgres = proportional_mb(pids) if (pids := postgres_pids(home)) else None
            if postgres is not None:
                peak["postgres_mb"] = max(peak["postgres_mb"] or 0.0, postgres)
            peak["process_mb"] = max(peak["process_mb"] or 0.0, resident_mb(os.getpid()))
            await asyncio.sleep(_SAMPLE_SECONDS)

    sampling = asyncio.create_task(sample())
    try:
        yield peak
    finally:
        await cancel_and_wait(sampling)
