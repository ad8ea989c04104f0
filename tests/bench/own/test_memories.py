"""`recollect bench own`: what is included, and that memory text stays in the private set."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.bench.memories import filler, memory
from tests.privacy.canaries import BIRD, birds_in, canary
from tests.shells.cli.commands import Cli

from recollect.settings import load
from recollect.usecases.service import LocalService
from recollect.wiring.context import build_context
from recollect_bench.in_memory import InMemoryStore
from recollect_bench.own.labels import accept_all, top_up
from recollect_bench.own.memories import evaluation_set, read_own
from recollect_bench.own.words import OwnWords

pytestmark = pytest.mark.anyio

SECRET = "the deploy key is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
CONFIGS = "local-fts,local-fts:prior_strength=0.5"


@pytest.fixture
def cli(tmp_path: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    """Use a temporary folder of its own, which must be empty at the end."""
    for name in ("RECOLLECT_API_URL", "RECOLLECT_API_KEY", "RECOLLECT_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    thrown_away = open_folder / f"thrown-away-{tmp_path.name}"
    thrown_away.mkdir(mode=0o711)
    monkeypatch.setattr(tempfile, "tempdir", str(thrown_away))
    yield Cli(tmp_path / "home")
    assert list(thrown_away.iterdir()) == []


@pytest.fixture
def private(cli: Cli) -> Path:
    return cli.home / "bench" / "own"


def _questions(private: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((private / "questions.json").read_text())["questions"]
    return found


def _fill(cli: Cli) -> None:
    """Store memories with a canary in every field that a question could be built from."""
    for number in range(4):
        word = canary(f"content{number}")
        text = f"Entry {number} says that {word} grows near item{number} in the cellar"
        letter = "abcd"[number]  # a number at the end would be a word of its own
        labels = ("--tag", canary(f"tag{letter}"), "--keyword", canary(f"keyword{letter}"))
        assert cli("remember", text, *labels).exit_code == 0


async def test_own_leaves_out_sensitive_memories_and_secrets() -> None:
    usable = filler(1, 5)
    left_out = [
        memory(11, "private matters", is_sensitive=True),
        memory(12, SECRET),
        memory(13, "a harmless text", tags=(SECRET,)),
        memory(14, "another harmless text", expanded_keywords=(SECRET,)),
    ]
    store = InMemoryStore()
    for stored in (*usable, *left_out):
        await store.add(stored)
    found = await read_own(LocalService(build_context(store, load()), "me"), page_size=2)
    assert found.memories == {str(memory.id): memory for memory in usable}
    assert found.sensitive == len(left_out)
    labels = accept_all(top_up([], OwnWords.of(found.memories.values()), 9, 1, ask=False))
    data = evaluation_set(found, labels)
    assert {document.content for document in data.documents} == {
        memory.content for memory in usable
    }
    assert len(data.questions) == 5
    assert all(gold.keys() <= found.memories.keys() for gold in data.gold.values())


def test_own_writes_memory_text_only_to_the_private_set(
    cli: Cli, private: Path, tmp_path: Path
) -> None:
    _fill(cli)
    hidden = "hiddenqqbird"
    assert cli("remember", f"never ask about {hidden}one", "--sensitive").exit_code == 0
    assert cli("remember", f"{hidden}two: {SECRET}", "--not-sensitive").exit_code == 0
    typed = canary("typed")
    answers = "".join(("y\n", f"e\nwhere was {typed}?\n", "n\n", *["y\n"] * 20))
    done = cli("bench", "own", "--configs", CONFIGS, input=answers)
    assert done.exit_code == 0, done.stderr
    assert birds_in(done.stderr), "a person who judges a question is shown its memory"
    assert hidden not in done.stderr
    assert "local-fts:prior_strength=0.5" in done.stdout
    outcome = tmp_path / "tuning.json"
    again = cli("bench", "own", "--yes", "--configs", CONFIGS)
    tuned = cli("bench", "tune", "--own", "--configs", CONFIGS, "--json", str(outcome))
    assert again.exit_code == 0, again.stderr
    assert "too few" in tuned.stderr
    for result in (done, again, tuned):
        assert birds_in(result.stdout) == []
    for result in (again, tuned):
        assert birds_in(result.stderr) == []
    held = (private / "questions.json").read_text()
    assert typed in held
    assert hidden not in held
    ids = [id for question in _questions(private) for id in (question["id"], *question["gold"])]
    elsewhere = [
        file
        for file in (*cli.home.rglob("*"), outcome)
        if file.is_file() and file != private / "questions.json" and file.parent != cli.home
    ]
    assert {"report.json", "report.md"} <= {file.name for file in elsewhere}
    for file in elsewhere:
        text = file.read_bytes()
        assert birds_in(text) == [], file
        assert not [id for id in ids if id.encode() in text], file
        assert hidden.encode() not in text, file


def test_own_report_covers_every_stratum_and_counts_confirmed_labels(
    cli: Cli, private: Path
) -> None:
    _fill(cli)
    cli("remember", "Anna knows why Quillfish never starts", "--keyword", "boot trouble")
    cli("remember", "The invoice for Quillfish was paid twice", "--keyword", "double payment")
    cli("remember", "keep this out", "--sensitive")
    done = cli("bench", "own", "--configs", CONFIGS, "--questions", "3", input="y\nn\nq\n")
    assert done.exit_code == 0, done.stderr
    report = json.loads((private / "report.json").read_text())
    about = report["provenance"]
    described = {name: about[name] for name in about if name != "version"}
    assert described == {
        "memories": 6,
        "sensitive_left_out": 1,
        "confirmed": 1,
        "taken_unconfirmed": 0,
        "struck": 1,
        "current_configuration": "local-fts",
    }
    assert cli("bench", "own", "--configs", CONFIGS, "--questions", "3", "--yes").exit_code == 0
    report = json.loads((private / "report.json").read_text())
    assert report["provenance"]["confirmed"] == 1
    strata = {result["stratum"]: result["queries"] for result in report["results"]}
    assert strata["exact"] == 3
    assert strata["paraphrase"] == 3
    assert strata["multi-hop"] == 1
    assert strata["overall"] == 7
    found = {
        result["stratum"]: result["value"]
        for result in report["results"]
        if (result["config"], result["metric"]) == ("local-fts", "R@10")
    }
    assert found["exact"] == 1.0, "words find what is quoted"
    assert found["paraphrase"] == 0.0, "and not what is said in other words"
    assert (private / "report.md").read_text().startswith("# Recall on your own memories")


def test_own_resumes_labelling_after_an_interruption(cli: Cli, private: Path) -> None:
    _fill(cli)
    options = ("bench", "own", "--configs", "local-fts", "--questions", "2")
    done = cli(*options, input="y\n")
    assert done.exit_code == 2
    assert "no answer to question 2 of 4" in done.stderr
    assert [question["state"] for question in _questions(private)].count("confirmed") == 1
    assert not (private / "report.json").exists()
    done = cli(*options, input="y\ny\ny\n")
    assert done.exit_code == 0, done.stderr
    assert "1 of 3" in done.stderr
    assert [question["state"] for question in _questions(private)] == ["confirmed"] * 4


def test_own_ask_rejects_a_paraphrase_that_gives_the_answer_away(cli: Cli, private: Path) -> None:
    for number in range(3):
        cli("remember", f"Parcel {number} waits behind door{number} of shed{number}")
    options = ("bench", "own", "--configs", "local-fts", "--questions", "1", "--ask")
    given_away = "is it door0, door1 or door2?"
    done = cli(*options, input=f"y\n{given_away}\nwhere did the delivery go?\n")
    assert "gives the answer away" in done.stderr
    assert done.exit_code == 0, done.stderr
    (paraphrase,) = (
        question for question in _questions(private) if question["stratum"] == "paraphrase"
    )
    assert (paraphrase["text"], paraphrase["state"]) == ("where did the delivery go?", "confirmed")


def test_own_drops_the_questions_of_a_memory_that_becomes_sensitive(
    cli: Cli, private: Path
) -> None:
    _fill(cli)
    assert cli("bench", "own", "--yes", "--configs", "local-fts").exit_code == 0
    before = _questions(private)
    id = cli.json("list")["memories"][0]["id"]
    assert cli("update", id, "--sensitive").exit_code == 0
    assert cli("bench", "own", "--yes", "--configs", "local-fts").exit_code == 0
    after = _questions(private)
    assert len(after) < len(before)
    assert not [question for question in after if id in question["gold"]]


@pytest.mark.parametrize("stored", [(), ("--sensitive",)])
def test_own_reports_a_store_without_usable_memories(cli: Cli, stored: tuple[str, ...]) -> None:
    if stored:
        cli("remember", "only this", *stored)
    done = cli("bench", "own", "--yes")
    assert done.exit_code == 2
    assert "no memory to ask about" in done.stderr


def test_own_does_not_change_the_users_store(cli: Cli) -> None:
    _fill(cli)
    before = cli.json("list"), cli.json("settings"), cli.json("status")
    assert cli("bench", "own", "--yes", "--configs", CONFIGS).exit_code == 0
    assert (cli.json("list"), cli.json("settings"), cli.json("status")) == before
    assert BIRD in json.dumps(before[0])


def test_own_compares_current_settings_and_reports_missing_paraphrases(
    cli: Cli, private: Path
) -> None:
    for number in range(3):
        text = f"Entry {number} says that plant{number} grows near item{number} in the cellar"
        assert cli("remember", text).exit_code == 0
    done = cli("bench", "own", "--yes", "--configs", "local-fts")
    assert done.exit_code == 0, done.stderr
    assert "No paraphrases could be generated" in " ".join(done.stdout.split())
    assert "local-fts: your current settings" in done.stdout
    assert cli("settings", "set", "prior_strength", "0.5").exit_code == 0
    again = cli("bench", "own", "--yes", "--configs", "local-fts")
    assert "current: your current settings" in again.stdout
    report = json.loads((private / "report.json").read_text())
    assert report["provenance"]["current_configuration"] == "current"
    assert report["against"] == "current"
    assert {result["config"] for result in report["results"]} == {"current", "local-fts"}
    labelled = "A note on tides and their causes"
    assert cli("remember", labelled, "--keyword", "moon", "--keyword", "gravity").exit_code == 0
    output = cli("bench", "own", "--yes", "--configs", "local-fts").stdout
    assert "No paraphrases could be generated" not in " ".join(output.split())
