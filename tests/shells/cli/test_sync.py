"""The commands of a cached store, on a real server and without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.serving import Running
from tests.shells.cli.commands import Cli

AWAY = {"RECOLLECT_API_URL": "http://127.0.0.1:9", "RECOLLECT_API_KEY": "rk_x"}


@pytest.fixture
def homes(server: Running, tmp_path: Path) -> list[Cli]:
    """Two machines of one person."""
    named = {"RECOLLECT_API_URL": server.url, "RECOLLECT_API_KEY": server.new_key()}
    return [Cli(tmp_path / name, named) for name in ("one", "two")]


def test_a_write_is_sent_after_its_answer_and_found_elsewhere(homes: list[Cli]) -> None:
    one, two = homes
    stored = one.json("remember", "The staging database is read-only", "--tag", "db")
    status = one.json("status")
    assert (status["mode"], status["store"], status["sync"]["waiting"]) == ("cached", "local", 0)
    assert status["sync"]["last_sync_at"] is not None
    assert two.json("recall", "staging")["hits"][0]["memory"]["id"] == stored["id"]
    assert [memory["id"] for memory in two.json("list")["memories"]] == [stored["id"]]
    assert two.json("sync")["waiting"] == 0
    assert two.json("list")["memories"] == [{**stored, "changed_by": "sync"}]
    assert two.json("update", stored["id"], "--importance", "1")["version"] == 2
    one("sync")
    assert one.json("show", stored["id"])["importance"] == 1.0
    assert "last sync" in one("status").stdout


def test_without_the_server_everything_goes_on_and_status_says_what_waits(
    homes: list[Cli],
) -> None:
    one, two = homes
    offline = Cli(one.home, {**one.settings, **AWAY})
    stored = offline.json("remember", "Nadia prefers small pull requests")
    found = offline("recall", "pull requests")
    assert "Nadia prefers" in found.stdout
    assert "answered by the local store, by words alone" in found.stderr
    answer = offline.json("recall", "pull requests")
    assert (answer["degraded"], len(answer["hits"])) == (["dense", "graph"], 1)
    assert "cannot be reached" in answer["note"]
    explained = offline("why", stored["id"], "--query", "pull requests")
    assert "yes, at place 1" in explained.stdout
    assert "answered by the local store, by words alone" in explained.stderr
    why = offline.json("why", stored["id"], "--query", "pull requests")
    assert "the server does not have it as it is here" in why["note"]
    status = offline.json("status")["sync"]
    assert (status["waiting"], status["last_sync_at"]) == (1, None)
    assert "cannot be reached" in status["last_error"]
    shown = offline("status").stdout
    assert "1 to be sent" in shown
    assert "never" in shown
    code, error = offline.error("sync")
    assert (code, error["type"]) == (6, "urn:recollect:problem:store-unavailable")
    one.json("sync")
    assert one.json("status")["sync"]["last_error"] is None
    two("sync")
    assert two.json("list")["memories"] == [{**stored, "changed_by": "sync"}]


def test_conflicts_are_listed_shown_and_resolved(homes: list[Cli]) -> None:
    one, two = homes
    id = one.json("remember", "The flag is red")["id"]
    two("sync")
    offline = Cli(two.home, {**two.settings, "RECOLLECT_API_URL": "http://127.0.0.1:9"})
    offline.json("update", id, "--content", "The flag is blue")
    one.json("update", id, "--content", "The flag is green")
    two("sync")
    assert two.json("show", id)["content"] == "The flag is green"
    (conflict,) = two.json("conflicts", "list")["conflicts"]
    assert (conflict["memory_id"], conflict["fields"]["content"]) == (id, "The flag is blue")
    assert conflict["current"]["content"] == "The flag is green"
    assert "edit" in two("conflicts").stdout
    shown = two("conflicts", "show", id[:13]).stdout
    assert "The flag is green" in shown
    assert "The flag is blue" in shown
    assert two.json("conflicts", "show", id)["id"] == conflict["id"]
    assert "run `recollect conflicts`" in two("status").stdout
    one("sync")
    assert one.json("conflicts", "list")["conflicts"][0]["id"] == conflict["id"]
    assert one.error("conflicts", "resolve", id, "--keep", "both")[0] == 2
    assert "kept the other side" in one("conflicts", "resolve", id, "--keep", "other").stdout
    assert one.error("conflicts", "resolve", id, "--keep", "other")[0] == 3
    two("sync")
    assert two.json("conflicts", "list")["conflicts"] == []
    assert two.json("show", id)["content"] == "The flag is blue"
    assert "no conflicts" in two("conflicts").stderr


def test_conflicts_over_rest(homes: list[Cli], server: Running) -> None:
    one, two = homes
    id = one.json("remember", "The flag is red")["id"]
    two("sync")
    offline = Cli(two.home, {**two.settings, "RECOLLECT_API_URL": "http://127.0.0.1:9"})
    offline.json("update", id, "--content", "The flag is blue")
    one.json("update", id, "--content", "The flag is green")
    two("sync")
    with server.client(one.settings["RECOLLECT_API_KEY"]) as client:
        (conflict,) = client.get("conflicts").json()["conflicts"]
        path = f"conflicts/{conflict['id']}/resolve"
        assert client.post(path, json={"keep": "current"}).json()["resolved_at"] is not None
        assert client.get("conflicts").json() == {"conflicts": []}
        assert client.post(path, json={"keep": "current"}).status_code == 404
    two("sync")
    assert two.json("conflicts", "list")["conflicts"] == []
    remote = Cli(two.home, {**two.settings, "RECOLLECT_SYNC": "off"})
    assert remote.json("conflicts", "list")["conflicts"] == []


def test_a_refused_key_is_reported_once(homes: list[Cli]) -> None:
    one, _ = homes
    wrong = Cli(one.home, {**one.settings, "RECOLLECT_API_KEY": "rk_wrong"})
    first = wrong("remember", "The harbour")
    assert first.exit_code == 0
    assert "stored here, but not sent: unknown key" in first.stderr
    assert wrong("remember", "The bridge").stderr == ""
    assert wrong.error("sync")[0] == 4
    assert wrong.json("status")["sync"]["waiting"] == 2
    assert one.json("sync")["waiting"] == 0
    assert one.json("status")["sync"]["last_error"] is None


def test_a_refused_write_is_shown_and_can_be_retried(homes: list[Cli]) -> None:
    one, two = homes
    generous = Cli(one.home, {**one.settings, "RECOLLECT_MAX_CONTENT": "20000"})
    id = generous.json("remember", input="x" * 9_000)["id"]
    (parked,) = generous.json("status")["sync"]["parked"]
    assert parked["id"] == id
    assert "9,000 characters" in parked["reason"]
    assert "9,000 characters" in generous("status").stdout
    assert len(generous.json("sync", "--retry")["parked"]) == 1
    generous.json("update", id, "--content", "shorter")
    assert generous.json("status")["sync"]["parked"] == []
    two("sync")
    assert two.json("show", id)["content"] == "shorter"


def test_sync_needs_a_server(cli: Cli) -> None:
    code, error = cli.error("sync")
    assert code == 2
    assert "local mode" in error["detail"]
    assert cli.json("status")["mode"] == "local"
    assert cli.json("conflicts", "list") == {"conflicts": []}


def test_a_second_server_is_refused_until_relinked(homes: list[Cli], server: Running) -> None:
    """Then it gets everything: another owner's memory with the same id is not in the way."""
    one, _ = homes
    first = one.json("remember", "The harbour")
    other = Cli(one.home, {**one.settings, "RECOLLECT_API_KEY": server.new_key()})
    code, error = other.error("sync")
    assert code == 5
    assert "--relink" in error["remedy"]
    stored = other.json("remember", "The bridge")
    assert other.json("status")["sync"]["waiting"] == 1
    other.json("sync", "--relink")
    shown = other.process("list", "--json", RECOLLECT_SYNC="off")
    assert [memory["id"] for memory in json.loads(shown.stdout)["memories"]] == [
        stored["id"],
        first["id"],
    ]
