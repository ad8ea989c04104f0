"""`recollect bench scale` on a tiny scale: fill, resume, report."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.conftest import Cluster
from tests.processes import COMMAND, environment
from tests.shells.cli.commands import Cli

from recollect.adapters.postgres.store import PostgresStore
from recollect.core.errors import InvalidInput, StoreFull
from recollect_bench.scale.clusters import DIMENSION, NAME, Clusters
from recollect_bench.scale.fill import TABLES, VECTORS, Filler
from recollect_bench.scale.measure import NAMES, View, ask
from recollect_bench.scale.population import Population
from recollect_bench.scale.stages import State, check_room, plan_owners, plan_rows

KINDS = {
    ("words", "rare words"),
    ("words", "common words"),
    ("words", "mixed"),
    ("vectors", "meaning"),
    ("recall", "rare words"),
    ("recall", "common words"),
    ("recall", "mixed"),
    ("recall", "names"),
    ("recall with graph", "names"),
}
COMPARED = {(part, query) for part, query in KINDS if part in ("words", "vectors")}
BUSY = {"recall with graph", "store", "keep vectors of 32", "sync: pull 200", "sync: push 10"}


def no_progress(_what: str, _done: int, _total: int) -> None:
    return None


class Killed(Exception):
    pass


@pytest.fixture
def urls(cluster: Cluster, database_url: str) -> tuple[str, str]:
    """URLs of one database: for the store, and for the superuser, which fills it."""
    name = conninfo_to_dict(database_url)["dbname"]
    return database_url, make_conninfo(cluster.admin_url, dbname=name)


@asynccontextmanager
async def opened(
    urls: tuple[str, str], batch: int = 5_000
) -> AsyncIterator[tuple[Filler, AsyncConnection[Any]]]:
    clusters, (url, admin_url) = Clusters(1), urls
    async with (
        PostgresStore(url) as store,
        await AsyncConnection.connect(admin_url, autocommit=True) as connection,
    ):
        assert store.vectors is not None, store.vector_note
        space = await store.vectors.open_space(NAME, clusters.space)
        await store.vectors.claim(space, 1)
        yield Filler(connection, store, store.vectors, space, clusters, batch), connection


async def indexes_of(connection: AsyncConnection[Any]) -> set[str]:
    cursor = await connection.execute(
        "select indexname from pg_indexes where tablename = any(%s)", (list(TABLES),)
    )
    return {name for (name,) in await cursor.fetchall()}


async def count_by_owner(connection: AsyncConnection[Any], table: str) -> dict[str, int]:
    cursor = await connection.execute(f"select owner, count(*) from {table} group by 1")
    return dict(await cursor.fetchall())


def test_sizes_of_owners_follow_zipf_next_to_one_large_owner() -> None:
    population = Population.mixed(1_000, 100_000, seed=1)
    assert len(population.owners) == 1_000
    assert population.rows == 100_000
    assert population.large.rows >= 10_000
    assert population.small.rows in range(90, 111)
    sizes = sorted((owner.rows for owner in population.owners), reverse=True)
    assert sizes[-1] >= 1
    assert sizes[500] < sizes[100] < sizes[10]


@pytest.mark.parametrize("cut", [0, 1, 19, 200, 399])
def test_slices_continue_where_they_were_cut(cut: int) -> None:
    population = Population.mixed(20, 400, seed=1)

    def rows(first: int, last: int) -> list[tuple[str, int]]:
        return [
            (part.owner.name, number)
            for part in population.slices(first, last)
            for number in range(part.first, part.last)
        ]

    whole = rows(0, 400)
    assert len(set(whole)) == 400
    assert rows(0, cut) + rows(cut, 400) == whole


def test_the_first_memories_and_questions_are_the_same_at_every_size() -> None:
    small, large = Population.single(2_000, seed=1), Population.single(50_000, seed=1)
    questions = [
        ask(population, View("one", population.owners), NAMES, 5) for population in (small, large)
    ]
    assert questions[0] == questions[1]
    corpora = [population.corpus(population.small) for population in (small, large)]
    assert list(corpora[0].memories(0, 5)) == list(corpora[1].memories(0, 5))


def test_questions_rotate_over_the_owners_of_a_view() -> None:
    population = Population.mixed(20, 400, seed=1)
    owners = tuple(population.some(3))
    asked = ask(population, View("any", owners), "rare words", 6)
    assert [question.owner for question in asked] == [owner.name for owner in owners] * 2


def test_vectors_form_clusters() -> None:
    clusters = Clusters(1)
    vectors = clusters.vectors(2_000, seed=5)
    assert vectors.shape == (2_000, DIMENSION)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.array_equal(vectors, clusters.vectors(2_000, seed=5))
    near = np.sort(vectors @ vectors.T, axis=1)[:, -2]
    assert np.median(near) > 0.6, "most have a neighbour of the same topic"
    assert abs(np.mean(vectors[0] @ vectors.T)) < 0.2, "and few memories are on it"


@pytest.mark.anyio
async def test_a_fill_stores_every_owner_with_vectors_and_graph(urls: tuple[str, str]) -> None:
    population = Population.mixed(20, 200, seed=1)
    async with opened(urls) as (filler, connection):
        before = await indexes_of(connection)
        filling = await filler.fill_to(population, population.rows, no_progress)
        expected = {owner.name: owner.rows for owner in population.owners}
        for table in ("memories", "changes", "extractions"):
            assert await count_by_owner(connection, table) == expected, table
        cursor = await connection.execute(
            "select count(*) from embeddings e join memories m on m.id = e.memory_id"
            " where e.vector is not null"
        )
        assert await cursor.fetchone() == (200,)
        assert (await count_by_owner(connection, "memory_concepts")).keys() == expected.keys()
        after = await indexes_of(connection)
    assert after == before, "every index is back"
    assert filling.rows == 200
    assert {"memories_search", VECTORS} <= filling.build_s.keys()


@pytest.mark.anyio
async def test_a_killed_fill_continues(urls: tuple[str, str]) -> None:
    population = Population.mixed(20, 200, seed=1)

    def kill_after_100(what: str, done: int, _total: int) -> None:
        if what.startswith("storing") and done >= 100:
            raise Killed

    def kill_while_building(what: str, _done: int, _total: int) -> None:
        if what == "building memories_search":
            raise Killed

    async with opened(urls) as (_, connection):
        before = await indexes_of(connection)
    for kill in (kill_after_100, kill_while_building):
        async with opened(urls, batch=50) as (filler, _):
            with pytest.raises(Killed):
                await filler.fill_to(population, 200, kill)
    stored: list[int] = []

    def record(what: str, done: int, _total: int) -> None:
        if what.startswith("storing"):
            stored.append(done)

    async with opened(urls) as (filler, connection):
        filling = await filler.fill_to(population, 200, record)
        assert stored == [], "all memories were stored before"
        counts = await count_by_owner(connection, "memories")
        assert counts == {owner.name: owner.rows for owner in population.owners}
        assert await indexes_of(connection) == before
        assert all(seconds is not None for seconds in filling.build_s.values())
        with pytest.raises(InvalidInput, match="200 memories already"):
            await filler.fill_to(population, 100, no_progress)


@pytest.mark.anyio
async def test_a_cancelled_fill_finishes_its_batch(urls: tuple[str, str]) -> None:
    population = Population.single(200, seed=1)

    def cancel(what: str, _done: int, _total: int) -> None:
        if what.startswith("storing"):
            filling.cancel()

    async with opened(urls, batch=50) as (filler, connection):
        filling = asyncio.create_task(filler.fill_to(population, 200, cancel))
        with pytest.raises(asyncio.CancelledError):
            await filling
        assert await count_by_owner(connection, "memories") == {"owner-0": 100}
        assert (await filler.fill_to(population, 200, no_progress)).rows == 200
        assert await count_by_owner(connection, "memories") == {"owner-0": 200}


def test_stages_that_do_not_fit_on_the_disk_are_refused(tmp_path: Path) -> None:
    check_room(tmp_path, plan_rows([100], seed=1))
    with pytest.raises(StoreFull, match="GB free") as refused:
        check_room(tmp_path, plan_rows([100, 10**12], seed=1))
    assert "--folder" in refused.value.remedy


def test_a_folder_keeps_results_for_the_same_options_only(tmp_path: Path) -> None:
    second, first = plan_owners(20, 200, seed=1)
    State(tmp_path, {"seed": 1}).add(first, {"name": first.name})
    results = State(tmp_path, {"seed": 1}).results
    assert (first.name in results, second.name in results) == (True, False)
    with pytest.raises(InvalidInput, match="--seed 1"):
        State(tmp_path, {"seed": 2})


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "bench", "scale", "--queries", "3", "--folder", str(folder), *options],
        env=environment(RECOLLECT_HOME=str(folder / "none")),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_run_reports_every_stage_and_skips_those_that_are_done(open_folder: Path) -> None:
    folder = open_folder / "scale"
    files = {kind: open_folder / f"scale.{kind}" for kind in ("json", "md")}
    first = run(folder, "--rows", "200")
    assert first.returncode == 0, first.stderr
    written = ("--json", str(files["json"]), "--markdown", str(files["md"]))
    done = run(folder, "--rows", "200,300", "--owners", "20", "--total", "400", *written)
    assert done.returncode == 0, done.stderr
    assert "storing 200 memories" in first.stderr
    assert "storing 200 memories" not in done.stderr, "that stage was done"
    report = json.loads(files["json"].read_text())
    names = [result["name"] for result in report["results"]]
    assert names == [
        "200 memories, 1 owner",
        "300 memories, 1 owner",
        "400 memories of 20 owners",
        "20 memories, 1 of 20 owners",
    ]
    for name, grid in zip(names, files["md"].read_text().split("## "), strict=False):
        assert name in done.stdout
        assert not grid or "| whose | work |" in grid
    for result in report["results"]:
        _check_result(result)
    among, alone = report["results"][2:]
    assert {timing["whose"] for timing in alone["timings"]} == {"small owner, alone"}
    assert {timing["whose"] for timing in among["timings"]} == {
        "small owner",
        "large owner",
        "any owner",
    }
    ratios = {ratio["name"]: ratio["ratio"] for ratio in report["ratios"]}
    _check_ratio(
        ratios["recall, mixed: 300 memories, 1 owner / 200 memories, 1 owner"],
        *(_p95(result, "one owner", "recall", "mixed") for result in report["results"][1::-1]),
    )
    _check_ratio(
        ratios["recall, mixed: small owner in 400 memories of 20 owners / alone"],
        _p95(among, "small owner", "recall", "mixed"),
        _p95(alone, "small owner, alone", "recall", "mixed"),
    )


def _check_result(result: dict[str, Any]) -> None:
    for whose in {timing["whose"] for timing in result["timings"]}:
        mine = [timing for timing in result["timings"] if timing["whose"] == whose]
        assert {(timing["part"], timing["query"]) for timing in mine} == KINDS
        busy = [timing for timing in result["busy"] if timing["whose"] == whose]
        assert {timing["part"] for timing in busy} == BUSY
        for timing in (*mine, *busy):
            assert 0 < timing["p50_ms"] <= timing["p95_ms"]
            assert timing["count"] >= 1
        agreed = {
            (row["part"], row["query"]): row["agreement"]
            for row in result["agreement"]
            if row["whose"] == whose
        }
        assert agreed == dict.fromkeys(COMPARED, 1.0), "nothing of a small store is missed"
    assert result["missing_legs"] == {}, "every recall had all of its legs"
    assert result["sizes_mb"]["memories"] > 0
    assert result["filling"]["build_s"].keys() <= {*result["sizes_mb"], VECTORS}
    assert result["memory"]["process_mb"] > 10


def _p95(result: dict[str, Any], *key: str) -> float:
    found: dict[tuple[str, ...], float] = {
        (timing["whose"], timing["part"], timing["query"]): timing["p95_ms"]
        for timing in result["timings"]
    }
    return found[key]


def _check_ratio(ratio: float, large: float, small: float) -> None:
    assert ratio == pytest.approx(large / small, abs=0.0051)


@pytest.mark.slow
def test_a_stopped_run_leaves_no_server_and_continues(open_folder: Path) -> None:
    folder = open_folder / "stopped"
    command = [*COMMAND, "bench", "scale", "--rows", "200", "--queries", "2"]
    with subprocess.Popen(
        [*command, "--folder", str(folder)],
        env=environment(RECOLLECT_HOME=str(folder / "none")),
        text=True,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("one owner"):
                process.send_signal(signal.SIGTERM)
                break
        process.stderr.read()
    assert process.returncode not in (0, -signal.SIGTERM)
    assert not list(folder.glob("postgres/data/postmaster.pid"))
    done = run(folder, "--rows", "200", "--queries", "2")
    assert done.returncode == 0, done.stderr
    assert "storing 200 memories" not in done.stderr, "the fill was done"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rows", "400,200"), "5000,300000"),
        (("--rows", "99"), "5000,300000"),
        (("--total", "5000"), "--owners"),
        (("--owners", "5"), "at least 10 owners"),
        (("--owners", "100", "--total", "500"), "10 memories for each"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    result = Cli(tmp_path)("bench", "scale", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in " ".join(result.stderr.replace("│", " ").split())
