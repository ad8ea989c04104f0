"""`recollect bench run` from end to end: real Postgres, the real model, the synthetic set.

One run is shared by the tests that read what it wrote.
"""

from __future__ import annotations

import json
import re
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.effort import EFFORT
from tests.shells.cli.commands import Cli

from recollect_bench.scores.metrics import METRICS

CONFIGS = ("default", "lexical", "dense", "convex", "local-fts", "bm25s")[: 3 if EFFORT < 1 else 6]
STRATA = ("exact", "multi-hop", "paraphrase")
ROW = ("set", "config", "stratum", "metric", "value", "low", "high", "queries")
PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Ran:
    """A run and the files it wrote."""

    folder: Path
    cli: Cli
    output: str
    report: dict[str, Any]

    def value(self, config: str, stratum: str, metric: str) -> float:
        (row,) = (
            row
            for row in self.report["results"]
            if (row["config"], row["stratum"], row["metric"]) == (config, stratum, metric)
        )
        found: float = row["value"]
        return found


@pytest.fixture(scope="module", autouse=True)
def without_data() -> Iterator[None]:
    """Ignore a folder that the environment names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RECOLLECT_BENCH_DATA", raising=False)
        yield


@pytest.fixture(scope="module")
def ran(without_data: None, models_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("ran")
    cli = Cli(folder / "home", {"RECOLLECT_MODELS": str(models_folder)})
    options = {
        "--configs": ",".join(CONFIGS),
        "--json": str(folder / "run.json"),
        "--markdown": str(folder / "run.md"),
        "--plots": str(folder / "plots"),
        "--readable": str(folder / "readable.md"),
        "--timed": "3",
    }
    result = cli("bench", "run", *(text for pair in options.items() for text in pair))
    assert result.exit_code == 0, result.stderr
    report = json.loads((folder / "run.json").read_text())
    return Ran(folder, cli, result.stdout, report)


def test_each_configuration_set_stratum_and_metric_has_one_row(ran: Ran) -> None:
    rows = ran.report["results"]
    assert all(tuple(row) == ROW for row in rows)
    strata = {"overall", *STRATA, *(f"rule:{name}" for name in STRATA)}
    keys = {(row["config"], row["stratum"], row["metric"]) for row in rows}
    assert keys == {
        (config, stratum, metric) for config in CONFIGS for stratum in strata for metric in METRICS
    }
    assert len(keys) == len(rows)
    for row in rows:
        assert 0 <= row["low"] <= row["value"] <= row["high"] <= 1
        assert row["set"] == "synthetic"
    overall, *parts = (
        {row["queries"] for row in rows if row["stratum"] == stratum}
        for stratum in ("overall", *STRATA)
    )
    assert overall == {sum(count for part in parts for count in part)}


def test_words_win_where_words_decide_and_meaning_where_meaning_does(ran: Ran) -> None:
    for words in {"lexical", "local-fts", "bm25s"} & {*CONFIGS}:
        assert ran.value(words, "exact", "RR") > ran.value("dense", "exact", "RR") + 0.2
        assert (
            ran.value("dense", "paraphrase", "R@10") > ran.value(words, "paraphrase", "R@10") + 0.5
        )
    for fused in {"default", "convex"} & {*CONFIGS}:
        legs = [ran.value(leg, "overall", "R@20") for leg in ("lexical", "dense")]
        assert ran.value(fused, "overall", "R@20") >= min(legs)
        assert ran.value(fused, "paraphrase", "R@10") > ran.value("lexical", "paraphrase", "R@10")


def test_differences_are_from_the_first_configuration_and_say_how_sure_they_are(ran: Ran) -> None:
    rows = ran.report["differences"]
    assert {row["against"] for row in rows} == {"default"}
    assert {row["config"] for row in rows} == set(CONFIGS) - {"default"}
    for row in rows:
        assert row["p"] <= row["p_holm"] <= 1
        assert row["detectable"] >= 0
        mine, base = (
            ran.value(config, row["stratum"], row["metric"])
            for config in (row["config"], "default")
        )
        assert row["value"] == pytest.approx(mine - base, abs=2e-6)
    worse = next(
        row
        for row in rows
        if (row["config"], row["stratum"], row["metric"]) == ("lexical", "rule:paraphrase", "R@10")
    )
    assert worse["high"] < 0
    assert worse["p_holm"] < 0.05


def test_run_reports_what_each_leg_contributed(ran: Ran) -> None:
    legs = {(row["config"], row["leg"]): row for row in ran.report["diagnostics"]["legs"]}
    assert {leg for config, leg in legs if config == "default"} == {"lexical", "dense"}
    assert {leg for config, leg in legs if config == "lexical"} == {"lexical"}
    assert legs["default", "dense"]["only_relevant"] > 0
    for row in ran.report["diagnostics"]["changes"]:
        assert row["won"] + row["lost"] + row["equal"] == legs["default", "dense"]["queries"]


def test_run_times_recalls(ran: Ran) -> None:
    assert {row["config"] for row in ran.report["latency"]} == set(CONFIGS)
    for row in ran.report["latency"]:
        assert 0 < row["p50_ms"] <= row["p95_ms"]
        assert row["queries"] == 3


def test_run_report_has_provenance_without_local_paths(ran: Ran) -> None:
    origin = ran.report["provenance"]
    assert set(origin["data"]) == {"synthetic"}
    assert re.fullmatch("[0-9a-f]{64}", origin["data"]["synthetic"]["digest"])
    assert origin["configs"]["dense"]["settings"]["lexical_weight"] == 0
    assert origin["configs"]["default"]["layout"]["embedder"] == "minilm"
    assert origin["configs"]["lexical"]["digest"] != origin["configs"]["dense"]["digest"]
    for file in ("run.json", "run.md"):
        text = (ran.folder / file).read_text()
        for private in (socket.gethostname(), str(ran.folder), str(Path.home())):
            assert private not in text


def test_run_writes_tables_plots_and_side_by_side_questions(ran: Ran) -> None:
    assert all(metric in ran.output for metric in ("R@1 ", "R@3 ", "R@10", "nDCG@10", "RR"))
    assert "default" in ran.output
    page = (ran.folder / "run.md").read_text()
    value = ran.value("dense", "overall", "R@10")
    assert f"| dense | {100 * value:.1f} (" in page
    plots = sorted(file.name for file in (ran.folder / "plots").iterdir())
    assert plots == ["latency.png", "quality-latency.png", "strata.png"]
    assert all((ran.folder / "plots" / name).read_bytes().startswith(PNG) for name in plots)
    readable = (ran.folder / "readable.md").read_text()
    assert "# synthetic: from default to lexical" in readable
    assert "✓" in readable


@pytest.mark.slow
def test_run_reuses_cached_vectors_and_repeats_its_numbers(ran: Ran) -> None:
    """Run every configuration again. If the model had to embed a document, the vector would be
    written to the cache, and another connection would see the change.
    """
    with closing(sqlite3.connect(ran.cli.home / "bench" / "embeddings.db")) as cache:
        version = "pragma data_version"
        (before,) = cache.execute(version).fetchone()
        result = ran.cli(
            "bench", "run", "--configs", ",".join(CONFIGS), "--json", "-", "--timed", "0"
        )
        assert cache.execute(version).fetchone() == (before,)
        assert cache.execute("select count(*) from vectors").fetchone()[0] > 0
    assert result.exit_code == 0, result.stderr
    again = json.loads(result.stdout)
    assert again.pop("latency") == []
    assert again == {key: value for key, value in ran.report.items() if key != "latency"}


@pytest.mark.slow
def test_run_fails_without_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run without a cache needs the model for every document."""
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    cli = Cli(tmp_path / "home", {"RECOLLECT_MODELS": str(tmp_path / "none")})
    result = cli("bench", "run", "--configs", "default", "--json", "-")
    assert result.exit_code == 6
    assert result.stdout == ""
    assert "could not be downloaded" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sets", "locomo"), "--data"),
        (("--data", "nowhere"), "no folder nowhere"),
        (("--configs", "best"), "there is no configuration named 'best'"),
        (("--configs", "default:rrf_k=0"), "rrf_k cannot be '0'"),
        (("--configs", "default:engine=oracle"), "engine cannot be 'oracle'"),
        (("--configs", "default+rerank"), "RECOLLECT_RERANKER"),
        (("--configs", "default:graph=given"), "ready-made facts, but synthetic has none"),
        (("--facts", "nowhere.jsonl"), "cannot read nowhere.jsonl"),
        (("--against", "best"), "'best' is not one of the configurations"),
        (("--json", "nowhere/run.json"), "cannot write"),
        (("--readable", "nowhere/run.md"), "cannot write"),
    ],
)
def test_run_rejects_invalid_options_before_measuring(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    result = Cli(tmp_path / "home")("bench", "run", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_run_lists_available_sets_for_an_unknown_one(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "tiny"
    folder.mkdir(parents=True)
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        (folder / name).touch()
    cli = Cli(tmp_path / "home", {"RECOLLECT_BENCH_DATA": str(tmp_path / "data")})
    result = cli("bench", "run", "--sets", "tinny")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no evaluation set named 'tinny'" in result.stderr
    assert "tiny" in result.stderr


def test_run_measures_an_unusual_set_under_its_own_name(tmp_path: Path) -> None:
    """One question, one scope of one memory, no strata, and a name that looks like markup."""
    folder = tmp_path / "odd [bold] set"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text(
        '{"_id": "d 1|é", "text": "A heron.", "scope": "", "time": "0001-01-01"}\n'
        '{"_id": 2, "text": "A heron.", "scope": "a / b ", "extra": {"c": 1}}\n'
    )
    (folder / "queries.jsonl").write_text('{"_id": 1, "text": "heron", "scope": " a / b"}\n')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\t2\t1\n")
    cli = Cli(tmp_path / "home")
    result = cli(
        *("bench", "run", "--data", str(folder), "--configs", "local-fts,bm25s", "--json", "-")
    )
    assert result.exit_code == 0, result.stderr
    rows = json.loads(result.stdout)["results"]
    assert {row["stratum"] for row in rows} == {"overall", "rule:exact"}
    assert {(row["value"], row["low"], row["high"], row["queries"]) for row in rows} == {
        (1.0, 1.0, 1.0, 1)
    }
    assert "odd [bold] set" in result.stderr


@pytest.mark.slow
def test_run_measures_stores_of_each_size(
    models_folder: Path, tmp_path: Path, without_data: None
) -> None:
    cli = Cli(tmp_path / "home", {"RECOLLECT_MODELS": str(models_folder)})
    options = ("--configs", "lexical", "--stores-of", "10,20", "--stores", "2", "--json", "-")
    result = cli("bench", "run", *options)
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert {row["set"] for row in report["results"]} == {"synthetic@10", "synthetic@20"}
