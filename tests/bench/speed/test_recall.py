"""The speed benchmark runs without set-up, and measures the same work every time."""

from __future__ import annotations

import json
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.processes import COMMAND, environment
from tests.shells.cli.commands import Cli

from recollect_bench.speed.corpus import KINDS, LONGEST, PROJECTS, SHORTEST, Corpus, vocabulary
from recollect_bench.speed.recall import Timing, timing

# The smallest store and a little more: each further memory is embedded for real.
SIZES = (100, 110)
STORING = ("with embedding", "without embedding")
PARTS = [
    *product(("embed", "lexical", "dense", "fuse", "fused", "whole"), KINDS),
    *product(("store",), STORING),
]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path / "home")


def test_speed_reports_an_unwritable_file_before_measuring(cli: Cli, tmp_path: Path) -> None:
    done = cli.process("bench", "speed", "--json", str(tmp_path / "nowhere" / "speed.json"))
    assert done.returncode == 2
    assert b"cannot write" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("passages", [1, 3])
def test_a_run_reports_every_part_and_its_ratios(
    home_with_model: Path, tmp_path: Path, passages: int
) -> None:
    before = sorted(home_with_model.iterdir())
    report = _measure_speed(home_with_model, tmp_path, "--passages", str(passages))
    timings = {(row["rows"], row["part"], row["query_kind"]): row for row in report["results"]}
    assert timings.keys() == {(size, *part) for size in SIZES for part in PARTS}
    assert len(report["results"]) == len(timings)
    for row in report["results"]:
        assert row.keys() == {"rows", "part", "query_kind", "p50_ms", "p95_ms"}
        assert 0 < row["p50_ms"] <= row["p95_ms"]
    _check_ratios(report, timings)
    _check_agreement(report["agreement"])
    assert report["degraded"] == {}
    assert report["server"]["resident_mb"] > 100, "the model is in memory"
    assert report["server"]["with_postgres_mb"] > 100, "and so is Postgres"
    assert 0 < report["server"]["start_up_s"] <= report["server"]["model_ready_s"]
    assert [row["rows"] for row in report["filling"]] == list(SIZES)
    assert all(row["size_mb"] > 0 for row in report["filling"])
    about = report["about"]
    assert (about["seed"], about["sizes"], about["embedder"]) == (5, list(SIZES), "minilm")
    assert about["passages"] == passages
    assert sorted(home_with_model.iterdir()) == before, "nothing of the user's is written"


@pytest.mark.slow
def test_a_local_run_reports_every_part_and_the_size_of_a_vector(
    home_with_model: Path, tmp_path: Path
) -> None:
    short, long = (
        _measure_speed(home_with_model, tmp_path, "--store", "sqlite", "--passages", passages)
        for passages in ("1", "3")
    )
    parts = ("lexical", "embed", "dense", "dense in a project", "fused", "whole")
    for report in (short, long):
        measured = {(row["rows"], row["part"], row["query_kind"]) for row in report["results"]}
        assert measured == {*product(SIZES, parts, KINDS)}
        assert [row["rows"] for row in report["footprints"]] == list(SIZES)
        assert all(row["findable_ms"] > 0 for row in report["footprints"])
    few, many = (report["footprints"][-1] for report in (short, long))
    assert many["matrix_mb"] > 2 * few["matrix_mb"], "a long text has more vectors"
    assert many["vector_bytes"] < 2 * few["vector_bytes"], "of about the same size"


def _measure_speed(home: Path, folder: Path, *options: str) -> dict[str, Any]:
    file = folder / "speed.json"
    sizes = ",".join(map(str, SIZES))
    asked = ("--rows", sizes, "--queries", "2", "--seed", "5", "--json", str(file))
    done = subprocess.run(
        [*COMMAND, "bench", "speed", *asked, *options],
        env=environment(RECOLLECT_HOME=str(home)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "110 rows" in done.stdout
    report: dict[str, Any] = json.loads(file.read_text())
    return report


def _check_ratios(
    report: dict[str, Any], timings: dict[tuple[int, str, str], dict[str, float]]
) -> None:
    grown = [(row["part"], row["query_kind"]) for row in report["growth"]]
    assert grown == list(dict.fromkeys(key[1:] for key in timings))
    for row in report["growth"]:
        small, large = (timings[size, row["part"], row["query_kind"]] for size in SIZES)
        assert row["ratio"] == pytest.approx(large["p95_ms"] / small["p95_ms"], abs=0.0051)
    assert [(row["rows"], row["query_kind"]) for row in report["overhead"]] == [
        *product(SIZES, KINDS)
    ]
    for ratio in report["overhead"]:
        embed, lexical, dense, fused = (
            timings[ratio["rows"], part, ratio["query_kind"]]["p50_ms"]
            for part in ("embed", "lexical", "dense", "fused")
        )
        assert ratio["ratio"] == pytest.approx(fused / (embed + max(lexical, dense)), abs=0.0051)
    for ratio in report["second_stage"]:
        with_it, without = (
            timings[ratio["rows"], part, ratio["query_kind"]]["p95_ms"]
            for part in ("whole", "fused")
        )
        assert ratio["ratio"] == pytest.approx(with_it / without, abs=0.0051)
    for ratio, size in zip(report["storing"], SIZES, strict=True):
        on, off = (timings[size, "store", kind]["p95_ms"] for kind in STORING)
        assert (ratio["rows"], ratio["ratio"]) == (size, pytest.approx(on / off, abs=0.0051))
    worst = {bar["name"]: (bar["worst"], bar["bar"], bar["holds"]) for bar in report["bars"]}
    for percentile, ratio in (("p50", "ratio"), ("p95", "p95_ratio")):
        overhead = max(row[ratio] for row in report["overhead"])
        bar = worst[f"fused / (embedding + slowest leg), {percentile}"]
        assert bar == (overhead, 1.3, overhead <= 1.3)
    whole = max(row["ratio"] for row in report["growth"] if row["part"] == "whole")
    assert worst["growth of the whole's p95"] == (whole, 4.0, whole <= 4.0)
    second = max(row["ratio"] for row in report["second_stage"])
    assert worst["with / without the second stage, p95"] == (second, 1.3, second <= 1.3)
    storing = max(row["ratio"] for row in report["storing"])
    assert worst["storing with / without embedding"] == (storing, 1.2, storing <= 1.2)


def _check_agreement(agreement: list[dict[str, Any]]) -> None:
    measured = [(row["rows"], row["part"], row["query_kind"], row["scope"]) for row in agreement]
    asked = product(SIZES, ("lexical", "dense"), KINDS, ("all", "10%", "1%"))
    assert sorted(measured) == sorted(asked)
    assert {row["agreement"] for row in agreement} == {1.0}


@pytest.mark.parametrize(
    ("took", "p50", "p95"),
    [
        ([7.0], 7.0, 7.0),
        ([1.0, 2.0], 1.5, 1.95),
        ([3.0, 1.0, 2.0], 2.0, 2.9),
        ([float(number) for number in range(1, 22)], 11.0, 20.0),
    ],
)
def test_a_p95_lies_within_what_was_measured(took: list[float], p50: float, p95: float) -> None:
    assert timing(5, "whole", "2 words", took) == Timing(5, "whole", "2 words", p50, p95)


@pytest.mark.parametrize("rows", ["", "many", "400,200", "200,200", "99", "200,", "-5", "1e3"])
def test_speed_rejects_invalid_sizes(cli: Cli, rows: str) -> None:
    result = cli("bench", "speed", "--rows", rows)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--rows" in result.stderr
    assert "5000,300000" in result.stderr


@pytest.mark.parametrize("path", [("bench",), ("bench", "speed")])
def test_bench_help_matches_other_commands(cli: Cli, path: tuple[str, ...]) -> None:
    for option in ("-h", "--help"):
        result = cli(*path, option)
        assert result.exit_code == 0
        assert result.stdout.startswith(f"Usage: recollect {' '.join(path)} [OPTIONS]")
        assert "completion" not in result.stdout
        assert "─" not in result.stdout


def test_the_same_seed_gives_the_same_memories_and_questions() -> None:
    one, same, other = Corpus.seeded(1), Corpus.seeded(1), Corpus.seeded(2)
    assert list(one.memories(0, 20)) == list(same.memories(0, 20))
    assert list(one.memories(10, 20)) == list(one.memories(0, 20))[10:]
    assert not {m.content for m in one.memories(0, 20)} & {m.content for m in other.memories(0, 20)}
    for kind in KINDS:
        assert one.queries(kind, 5, 100) == same.queries(kind, 5, 100)
        assert one.queries(kind, 5, 100) != other.queries(kind, 5, 100)


def test_memories_are_distinct_and_their_words_follow_zipf() -> None:
    corpus = Corpus.seeded(1)
    memories = list(corpus.memories(0, 500))
    assert len({memory.id for memory in memories}) == 500
    assert all(SHORTEST <= len(memory.content.split()) <= LONGEST for memory in memories)
    assert {memory.project for memory in memories} == {None, *PROJECTS}
    words = [word for memory in memories for word in memory.content.split()]
    first, tenth = words.count(corpus.words[0]), words.count(corpus.words[9])
    assert 7 < first / tenth < 13
    assert len(set(vocabulary())) == len(corpus.words) == 50_000


def test_each_kind_of_question_has_its_number_of_words() -> None:
    corpus = Corpus.seeded(1)
    numbers = {"2 words": 2, "7 words": 7, "12 words": 12, "common words": 3}
    contents = [set(memory.content.split()) for memory in corpus.memories(0, 50)]
    for kind, number in numbers.items():
        for question in corpus.queries(kind, 10, 50):
            assert len(set(question.split())) == number
            if kind != "common words":
                assert any(set(question.split()) <= content for content in contents)
