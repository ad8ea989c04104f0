"""`recollect bench tune` on real stores: what it recommends, and that it alters nothing unasked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.shells.cli.commands import Cli

from recollect.settings import load
from recollect_bench.cli.tune import store_warning
from recollect_bench.data.datasets import CORPUS, HEADER, QRELS, QUERIES
from recollect_bench.runs.configs import parse_configs

# Cheap to run, and real: the local store, and a setting that matters there.
SWEEP = "local-fts:min_relevance=0|1"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    for name in ("RECOLLECT_API_URL", "RECOLLECT_API_KEY", "RECOLLECT_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    return Cli(tmp_path / "home")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Each question shares two of its three words with its answer."""
    folder = tmp_path / "data" / "doors"
    folder.mkdir(parents=True)
    documents, queries, labels = [], [], ["\t".join(HEADER)]
    for number in range(24):
        text = f"somebody lost the key{number} of the red{number} door near the station"
        queries.append({"_id": f"q{number}", "text": f"red{number} door{number} key{number}"})
        documents.append({"_id": f"d{number}", "text": text})
        labels.append(f"q{number}\td{number}\t1")
    (folder / CORPUS).write_text("".join(json.dumps(document) + "\n" for document in documents))
    (folder / QUERIES).write_text("".join(json.dumps(query) + "\n" for query in queries))
    (folder / QRELS).write_text("\n".join(labels) + "\n")
    return folder.parent


def _tune(cli: Cli, data: Path, *options: str) -> tuple[str, dict[str, Any]]:
    file = data / "outcome.json"
    done = cli("bench", "tune", "--data", str(data), "--json", str(file), *options)
    assert done.exit_code == 0, done.stderr
    return done.stdout, json.loads(file.read_text())


def test_tune_applies_a_recommended_change_only_with_apply(cli: Cli, data: Path) -> None:
    assert cli("settings", "set", "min_relevance", "1").exit_code == 0
    out, outcome = _tune(cli, data, "--configs", SWEEP, "--metric", "RR")
    assert outcome["chosen"] == "local-fts:min_relevance=0"
    assert outcome["recommended"]
    assert outcome["held_out"]["value"] == 1
    assert outcome["held_out"]["low"] > 0
    assert outcome["changes"]["min_relevance"] == 0
    assert "recollect settings set min_relevance 0" in out.splitlines()
    assert cli.json("settings")["min_relevance"] == 1, "nothing is changed without --apply"
    out, again = _tune(cli, data, "--configs", SWEEP, "--metric", "RR", "--apply")
    assert again == outcome, "the same seed gives the same figures"
    settings = cli.json("settings")
    assert {name: settings[name] for name in outcome["changes"]} == outcome["changes"]
    assert "applied" in out


@pytest.mark.slow
def test_tune_applies_nothing_without_a_recommendation(cli: Cli, data: Path) -> None:
    out, outcome = _tune(cli, data, "--configs", "local-fts:vote=5|6", "--apply")
    assert not outcome["recommended"]
    assert (outcome["changes"], outcome["commands"]) == ({}, [])
    assert "no change is recommended" in out
    assert "applied" not in out
    assert not cli.home.joinpath("memories.db").exists(), "tuning creates no store"


@pytest.mark.parametrize(
    ("api_url", "config", "is_warned"),
    [(None, "default", True), (None, "local-fts", False), ("http://localhost", "default", False)],
)
def test_tune_warns_about_a_change_the_local_store_cannot_use(
    api_url: str | None, config: str, is_warned: bool
) -> None:
    (chosen,) = parse_configs(config)
    warning = store_warning(load(api_url=api_url), chosen)
    assert (warning is not None) == is_warned


def test_tune_uses_only_the_named_sets(cli: Cli, data: Path) -> None:
    done = cli("bench", "tune", "--data", str(data), "--sets", "poems")
    assert done.exit_code == 2
    assert "there is no evaluation set named 'poems'" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--metric", "luck"), "no metric named 'luck'"),
        (("--configs", "lexical,local-fts"), "more than settings"),
        (("--json", "/nowhere/outcome.json"), "cannot write"),
        (("--own",), "no memory to ask about"),
    ],
)
def test_tune_rejects_invalid_options_before_measuring(
    cli: Cli, options: tuple[str, ...], message: str
) -> None:
    done = cli("bench", "tune", *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.slow
def test_tune_uses_the_private_set(cli: Cli, tmp_path: Path) -> None:
    for number in range(24):
        cli("remember", f"Shelf{number} holds the box of thing{number} and nothing else")
    assert "no question" in cli("bench", "tune", "--own").stderr
    own = cli("bench", "own", "--yes", "--configs", "local-fts", "--questions", "24")
    assert own.exit_code == 0, own.stderr
    file = tmp_path / "outcome.json"
    done = cli("bench", "tune", "--own", "--configs", SWEEP, "--json", str(file))
    assert done.exit_code == 0, done.stderr
    outcome = json.loads(file.read_text())
    assert outcome["held_out_by_set"].keys() == {"own"}
    assert outcome["held_out"]["queries"] == 12
    assert not (cli.home / "bench" / "embeddings.db").exists(), "no vector of a memory is kept"
