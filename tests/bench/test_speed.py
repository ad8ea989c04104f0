"""The instrument runs as a newcomer would run it, and measures the same work every time."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import Cli

from recollect.bench.corpus import KINDS, LONGEST, PROJECTS, SHORTEST, Corpus, vocabulary

SIZES = (200, 400)
PARTS = [*product(("lexical", "whole"), KINDS), ("store", "any")]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path / "home")


def test_a_file_that_cannot_be_written_is_told_before_measuring(cli: Cli, tmp_path: Path) -> None:
    done = cli.process("bench", "speed", "--json", str(tmp_path / "nowhere" / "speed.json"))
    assert done.returncode == 2
    assert b"cannot be written" in done.stderr


def test_a_run_reports_timings_growth_and_agreement(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "speed.json"
    sizes = ",".join(map(str, SIZES))
    options = ("--queries", "3", "--seed", "5", "--no-dense", "--json", str(file))
    done = cli.process("bench", "speed", "--rows", sizes, *options)
    assert done.returncode == 0, done.stderr.decode()
    assert "400 rows" in done.stdout.decode()
    report = json.loads(file.read_text())
    timings = {(one["rows"], one["part"], one["query_kind"]): one for one in report["results"]}
    assert timings.keys() >= {(size, *part) for size in SIZES for part in PARTS}
    assert len(report["results"]) == len(timings)
    for one in report["results"]:
        assert one.keys() == {"rows", "part", "query_kind", "p50_ms", "p95_ms"}
        assert 0 < one["p50_ms"] <= one["p95_ms"]
    grown = [(one["part"], one["query_kind"]) for one in report["growth"]]
    assert grown == list(dict.fromkeys(key[1:] for key in timings))
    for one in report["growth"]:
        small, large = (timings[size, one["part"], one["query_kind"]] for size in SIZES)
        assert one["ratio"] == pytest.approx(large["p95_ms"] / small["p95_ms"], abs=0.0051)
    _all_of_a_small_store_is_found(report["agreement"])
    assert (report["about"]["seed"], report["about"]["sizes"]) == (5, list(SIZES))
    assert not cli.home.exists(), "nothing of the user's is read or written"


def _all_of_a_small_store_is_found(agreement: list[dict[str, Any]]) -> None:
    measured = [(one["rows"], one["query_kind"], one["scope"]) for one in agreement]
    assert sorted(measured) == sorted(product(SIZES, KINDS, ("all", "10%", "1%")))
    assert {one["agreement"] for one in agreement} == {1.0}


@pytest.mark.parametrize("rows", ["", "many", "400,200", "200,200", "99", "200,", "-5", "1e3"])
def test_sizes_that_make_no_sense_are_refused(cli: Cli, rows: str) -> None:
    result = cli("bench", "speed", "--rows", rows)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--rows" in result.stderr
    assert "5000,300000" in result.stderr


@pytest.mark.parametrize("path", [("bench",), ("bench", "speed")])
def test_its_help_looks_like_that_of_the_other_commands(cli: Cli, path: tuple[str, ...]) -> None:
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
    told = [word for memory in memories for word in memory.content.split()]
    first, tenth = told.count(corpus.words[0]), told.count(corpus.words[9])
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
