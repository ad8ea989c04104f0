"""Recall by meaning and over the graph on the local store alone: the real model, no server."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.test_resident import session, wait_for_model
from tests.processes import COMMAND, environment
from tests.shells.cli.commands import Cli, unhurried_home
from tests.waiting import SECONDS, wait_until

from recollect import Client
from recollect.adapters.models.embedders.local_cache import model_folder
from recollect.adapters.models.embedders.local_models import MINILM
from recollect.core.admin.checks import MORE_THAN_WORDS, WORDS_ONLY

CAR = "My automobile is being repaired until Thursday"
QUERY = "Has a mechanic fixed her car?"


@pytest.fixture
def cli(home_with_model: Path) -> Cli:
    return Cli(unhurried_home(home_with_model))


def texts(found: dict[str, Any]) -> list[str]:
    return [hit["memory"]["content"] for hit in found["hits"]]


def test_a_question_that_shares_no_word_finds_its_answer(cli: Cli) -> None:
    for text in (CAR, "The violin hangs in the study", "Soup is served at noon"):
        cli("remember", text)
    assert texts(cli.json("recall", QUERY, "--no-dense")) == []
    found = cli.json("recall", QUERY, "--explain")
    assert texts(found)[0] == CAR
    assert found["legs"]["dense"]["status"] == "ran"
    assert found["hint"] is None
    report = cli.json("why", found["hits"][0]["memory"]["id"], "--query", QUERY)
    assert report["legs"]["dense"]["status"] == "ran"
    status = cli.json("status")
    assert status["stats"]["embedding"]["embedded"] == 3
    assert status["vector_bytes"] > 3 * 2 * 384


def test_a_python_program_finds_by_meaning_what_it_has_just_stored(
    home_with_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_TIMEOUT_FACTOR", "10")
    with Client(home=unhurried_home(home_with_model)) as memory:
        assert memory.recall(QUERY).hits == ()  # the model is loaded before anything is stored
        car = memory.remember(CAR)
        assert [hit.memory.id for hit in memory.recall(QUERY).hits] == [car.id]


# What someone changes. In a store with all of these pairs, the newer fact comes first in 17 of the
# first 20, where it was 14 before the rules knew what follows the verb. They were read meanwhile.
CHANGED = [
    # older, newer, question
    ("The printer is on the third floor.", "The printer moved to the basement.",
     "Where is the printer?"),
    ("Nadia handles the payroll.", "I changed the payroll contact from Nadia to Viktor.",
     "Who handles the payroll?"),
    ("Uploads are limited to 25 MB.", "The upload limit is now 100 MB.",
     "How large can an upload be?"),
    ("The thesis is due on March 3.", "The thesis deadline moved to April 21.",
     "When is the thesis due?"),
    ("Our mobile app is called Lantern.", "Lantern has been renamed to Beacon.",
     "What is our mobile app called?"),
    ("We send newsletters with Mailchimp.", "We switched from Mailchimp to Buttondown.",
     "What do we send newsletters with?"),
    ("My dentist is Dr. Haas.", "I changed my dentist to Dr. Wirth.", "Who is my dentist?"),
    ("The gym opens at six.", "The gym is now open from seven.", "When does the gym open?"),
    ("Nightly backups go to the NAS.", "I moved the nightly backups to S3.",
     "Where do nightly backups go?"),
    ("The search index is rebuilt every night.",
     "We changed the rebuild of the search index to every hour.",
     "How often is the search index rebuilt?"),
    ("The spare laptop is in Mara's office.", "The spare laptop moved to the storage room.",
     "Where is the spare laptop?"),
    ("Invoices go out on the first of the month.", "I changed the invoice day to the fifteenth.",
     "When do invoices go out?"),
    ("Our status page is called Pulse.", "We renamed the status page to Heartbeat.",
     "What is our status page called?"),
    ("We track bugs in Jira.", "We switched from Jira to Linear.", "Where do we track bugs?"),
    ("The museum trip is on May 9.", "The museum trip has been postponed to May 23.",
     "When is the museum trip?"),
    ("My landline number is 4471.", "My landline number is now 5520.",
     "What is my landline number?"),
    ("Leon reviews the translations.", "Leon handed the translations over to Greta.",
     "Who reviews the translations?"),
    ("The free plan allows three users.", "We raised the limit of the free plan to five users.",
     "How many users does the free plan allow?"),
    ("The deadline for the grant is September 30.",
     "The deadline for the grant moved to October 14.", "When is the deadline for the grant?"),
    ("I run in the morning.", "I now run in the evening.", "When do I run?"),
]  # fmt: skip
# No rule was chosen on these: 10 of 10, where it was 6 before.
UNSEEN = [
    # older, newer, question
    ("The guest wifi password hint is on the fridge.",
     "I moved the guest wifi password hint to the hallway.",
     "Where is the guest wifi password hint?"),
    ("Our release train leaves every two weeks.", "We changed the release train to every week.",
     "How often does the release train leave?"),
    ("The customer portal is called Harbor.", "The customer portal has been renamed to Marina.",
     "What is the customer portal called?"),
    ("We take meeting notes in Evernote.",
     "We switched our meeting notes from Evernote to Notion.",
     "Where do we take meeting notes?"),
    ("The audit is scheduled for June 11.", "The audit moved to July 2.",
     "When is the audit?"),
    ("My car insurance is with Allianz.", "My car insurance is now with Axa.",
     "Who is my car insurance with?"),
    ("Priya leads the mobile team.", "Priya handed the mobile team over to Tom.",
     "Who leads the mobile team?"),
    ("Sessions expire after 30 minutes.", "I changed the session expiry to 15 minutes.",
     "When do sessions expire?"),
    ("The submission deadline is October 5.",
     "The submission deadline was extended to October 19.",
     "When is the submission deadline?"),
    ("I take the bus to work.", "I switched from the bus to the bike for work.",
     "How do I get to work?"),
]  # fmt: skip


def test_what_someone_changed_comes_before_what_it_was(
    home_with_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_TIMEOUT_FACTOR", "10")
    with Client(home=unhurried_home(home_with_model)) as memory:
        for older, newer, _ in (*CHANGED, *UNSEEN):
            memory.remember(older)
            memory.remember(newer)
        found = [
            sum(
                memory.recall(question).hits[0].memory.content == newer
                for _, newer, question in pairs
            )
            for pairs in (CHANGED, UNSEEN)
        ]
    assert found[0] >= 16
    assert found[1] >= 9


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        ("We release on Tuesdays after the review.",
         "We no longer release on Tuesdays; releases are on Mondays.",
         "On which day do we release?"),
        ("I live in Ulm.", "I moved to Basel in spring.", "Where do I live?"),
        ("For lint checks we use Flake8.", "We switched from Flake8 to Ruff.",
         "What do we use for lint checks?"),
        ("The mail service is called pigeon.", "pigeon was renamed to courier.",
         "What is the mail service called?"),
        ("Our tests run in a virtual machine.", "Our tests run in Docker.",
         "How do our tests run?"),
    ],
)  # fmt: skip
def test_of_two_answers_the_newer_comes_first(
    cli: Cli, older: str, newer: str, question: str
) -> None:
    cli("remember", older)
    cli("remember", "Standup is at nine.")
    cli("remember", newer)
    contents = [hit["memory"]["content"] for hit in cli.json("recall", question)["hits"]]
    assert contents.index(newer) < contents.index(older)


def test_the_graph_of_the_local_store(cli: Cli) -> None:
    cli("remember", "Anna Berg works at Initech")
    cli("remember", "Atlas uses Postgres")
    cli("remember", "Initech sells Atlas to hospitals")
    assert cli.json("graph", "build")["read"] == 3
    steps = cli.json("graph", "path", "Anna Berg", "Postgres")["steps"]
    assert steps[0]["relation"] == "works at"
    assert cli.json("graph", "stats")["memories"] == 3
    merged = cli.json("graph", "merge", "Initech", "Atlas")
    assert "Atlas" in merged["aliases"]
    assert cli.json("graph", "split", "Initech", "Atlas")["name"] == "Atlas"
    found = cli.json("recall", "who has to do with Initech?", "--explain")
    assert found["legs"]["graph"]["status"] == "ran"


def test_the_worker_and_reembed_work_on_the_local_store(cli: Cli) -> None:
    lines = [json.dumps({"content": f"note {number} about the harbour"}) for number in range(40)]
    cli("import", "-", input="\n".join(lines))
    done = cli("worker", "--local", "--once", "--json")
    assert json.loads(done.stdout)["embedded"] == 40
    (space,) = cli.json("reembed", "--status")["spaces"]
    assert (space["embedder"], space["embedded"], space["waiting"]) == ("minilm", 40, 0)


def test_doctor_and_status_say_that_the_model_does_not_cover_a_language(cli: Cli) -> None:
    for number in range(4):
        cli("remember", f"Der Schlüssel für Raum {number} liegt bei der Verwaltung")
    cli("worker", "--local", "--once")
    assert cli.json("status")["stats"]["embedding"]["languages"] == ["en"]
    shown = " ".join(cli("status").stdout.split())
    assert "the embedding model was not made for" in shown
    assert "German (4)" in shown
    (check,) = (each for each in cli.json("doctor")["checks"] if each["name"] == "languages")
    assert check["status"] == "warn"
    assert "multilingual" in check["remedy"]


def test_the_active_space_decides_which_model_recalls(cli: Cli, models_folder: Path) -> None:
    """The default model is not on the machine; the one that was switched to is."""
    named = f"folder:{model_folder(MINILM, models_folder)}"
    other = Cli(cli.home, {"RECOLLECT_MODELS": str(cli.home / "empty")})
    other("remember", CAR)
    assert other.json("recall", QUERY)["hint"] == WORDS_ONLY
    assert other.json("reembed", "--model", named)["active"]["embedder"] == named
    found = other.json("recall", QUERY, "--explain")
    assert texts(found) == [CAR]
    assert found["hint"] is None
    assert other.json("status")["stats"]["embedding"]["embedder"] == named
    assert named in other("status").stdout.replace("\n", "").replace(" ", "")
    checks = {check["name"]: check for check in other.json("doctor")["checks"]}
    assert f"by meaning ({named})" in checks["recall"]["detail"]
    assert named in checks["embedder"]["detail"]
    with session(cli.home, **other.settings) as mcp:
        wait_for_model(cli.home, 1)
        assert mcp.call("memory_recall", query=QUERY)["hits"][0]["memory"]["content"] == CAR
    words = Cli(cli.home, {**other.settings, "RECOLLECT_EMBEDDER": "none"})
    assert texts(words.json("recall", QUERY)) == []


@pytest.mark.slow
def test_a_long_memory_does_not_keep_others_from_being_embedded(cli: Cli) -> None:
    """It is left to a worker, which the recall names."""
    cli("remember", "-", input="The harbour master keeps the tide tables. " * 2_300)
    for text in (CAR, "Anna Berg works at Initech"):
        cli("remember", text)
    found = cli.json("recall", QUERY)
    assert texts(found)[0] == CAR
    assert found["hint"] == (
        "2 of 3 memories are embedded; the other one is found by words only so far. To embed "
        "the rest now, run `recollect worker --local --once`."
    )
    stats = cli.json("status")["stats"]
    assert (stats["embedding"]["embedded"], stats["embedding"]["waiting"]) == (2, 1)
    assert stats["graph"]["extracted"] >= 1
    assert json.loads(cli("worker", "--local", "--once", "--json").stdout)["embedded"] == 1
    assert cli.json("recall", QUERY)["hint"] is None


def notes(numbers: range) -> str:
    """Return what another program may export, one memory per line."""
    lines = (json.dumps({"content": f"Crate {number} is at the harbour"}) for number in numbers)
    return "\n".join(lines)


@pytest.mark.slow
def test_words_find_what_a_large_import_has_stored_so_far(cli: Cli, tmp_path: Path) -> None:
    """The import waits for the rest of its input while another process recalls."""
    first = tmp_path / "first.jsonl"
    first.write_text(notes(range(1_500)))
    terminal, stderr = pty.openpty()
    importing = subprocess.Popen(
        [*COMMAND, "import", str(first), "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=environment(**cli.variables, TERM="xterm", COLUMNS="80"),
    )
    os.close(stderr)
    with ThreadPoolExecutor(1) as pool:
        shown = pool.submit(read_all, terminal)
        wait_until(lambda: cli.json("status")["stats"]["memories"] == 1_500)
        answer = cli.process("recall", "crate 1234", "--json")
        assert importing.poll() is None
        found = json.loads(answer.stdout)
        assert texts(found)[0] == "Crate 1234 is at the harbour"
        assert "of 1,500 memories are embedded" in found["hint"]
        stdout, _ = importing.communicate(notes(range(1_500, 3_000)).encode(), timeout=SECONDS)
    assert b"imported 3000 memories from 2 files" in stdout.replace(b",", b"")
    assert "1,500 of 1,500" in shown.result()
    assert "3,000 of 3,000" in shown.result()
    assert texts(cli.json("recall", "crate 2987", "--no-dense"))[0].startswith("Crate 2987")


def read_all(terminal: int) -> str:
    """Return what a process wrote to its terminal until it ended."""
    read = b""
    with suppress(OSError):  # the other end is closed
        while part := os.read(terminal, 65_536):
            read += part
    os.close(terminal)
    return read.decode()


def test_what_is_missing_is_the_model_of_the_active_space(cli: Cli) -> None:
    cli("remember", CAR)
    cli("worker", "--local", "--once")
    other = Cli(cli.home, {"RECOLLECT_EMBEDDER": "mpnet"})
    assert texts(other.json("recall", QUERY)) == [CAR]
    unavailable = {"RECOLLECT_EMBEDDER": "mpnet", "RECOLLECT_MODELS": str(cli.home / "empty")}
    without = Cli(cli.home, unavailable)
    assert without.json("recall", "automobile")["hint"] == WORDS_ONLY
    assert without.json("status")["stats"]["embedding"]["embedder"] == "minilm"
    (check,) = (each for each in without.json("doctor")["checks"] if each["name"] == "recall")
    assert (check["detail"], check["remedy"]) == (
        "by words only: the model minilm is not here",
        MORE_THAN_WORDS,
    )


@pytest.mark.parametrize("damage", ["missing", "partial", "corrupt"])
def test_without_a_whole_model_words_answer(cli: Cli, tmp_path: Path, damage: str) -> None:
    """In exactly the order of a search by words."""
    for text in (CAR, "The car is red", "A red violin"):
        cli("remember", text)
    expected = texts(cli.json("recall", "red car", "--no-dense"))
    models = tmp_path / "models"
    if damage != "missing":
        shutil.copytree(cli.home / "models", models, symlinks=False)
        (file,) = models.rglob("model.onnx")
        data = file.read_bytes()
        file.write_bytes(data[: len(data) // 2] if damage == "partial" else data[::-1])
    broken = Cli(cli.home, {"RECOLLECT_MODELS": str(models)})
    found = broken.json("recall", "red car")
    assert texts(found) == expected != []
    if damage == "missing":
        assert found["hint"] == WORDS_ONLY
    else:
        assert found["degraded"] == ["dense"]


def test_no_embedder_keeps_to_words_and_gives_no_hint(cli: Cli) -> None:
    cli("remember", CAR)
    words = Cli(cli.home, {"RECOLLECT_EMBEDDER": "none"})
    assert texts(words.json("recall", QUERY)) == []
    assert words.json("recall", "automobile")["hint"] is None


def test_remember_loads_no_model(cli: Cli) -> None:
    done = cli.process("remember", CAR, PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == 0
    imported = {line.rsplit(b"|")[-1].strip() for line in done.stderr.splitlines()}
    assert not imported & {b"numpy", b"onnxruntime", b"tokenizers"}
