"""The same commands against a real server: the answers and the errors are the same."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.processes import COMMAND, environment
from tests.serving import Running
from tests.shells.cli.commands import Cli, client_of
from tests.waiting import SECONDS

from recollect.settings import Settings
from recollect.shells.serve import warn_without_tls


def test_the_commands_work_on_a_server(server: Running, tmp_path: Path) -> None:
    cli = client_of(server, tmp_path / "home")
    stored = cli.json("remember", "The staging database is read-only", "--tag", "db")
    assert cli.json("recall", "staging")["hits"][0]["memory"] == stored
    assert cli.json("list")["memories"] == [stored]
    assert cli.json("update", stored["id"][:13], "--importance", "1")["version"] == 2
    assert cli.json("settings", "set", "fusion", "convex")["fusion"]["new"] == "convex"
    status = cli.json("status")
    assert (status["store"], status["location"]) == ("server", server.url)
    assert status["stats"]["memories"] == 1
    assert cli.json("forget", stored["id"])["forgotten"] == [stored["id"]]
    assert cli.error("show", stored["id"])[0] == 3
    checks = {check["name"]: check["status"] for check in cli.json("doctor")["checks"]}
    assert checks["server"] == "ok"
    assert not (tmp_path / "home").exists()


def test_owners_do_not_see_each_other(server: Running, tmp_path: Path) -> None:
    mine, theirs = client_of(server, tmp_path / "home"), client_of(server, tmp_path / "home")
    id = mine.json("remember", "a private matter")["id"]
    assert theirs.json("recall", "private")["hits"] == []
    assert theirs.json("list")["memories"] == []
    for command in (("show", id), ("update", id, "--content", "x"), ("forget", id)):
        assert theirs.error(*command)[0] == 3
    assert mine.json("show", id)["content"] == "a private matter"


@pytest.mark.usefixtures("real_processes")
def test_serve_keys_and_a_client_as_real_processes(tmp_path: Path, database_url: str) -> None:
    admin = Cli(tmp_path / "admin", {"RECOLLECT_DATABASE_URL": database_url})
    ready_file = tmp_path / "ready"
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--ready-file", str(ready_file), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(**admin.variables),
    )
    with process:
        assert process.stdout is not None
        try:
            ready = json.loads(process.stdout.readline())
            assert json.loads(ready_file.read_text()) == ready
            _check_keys(admin, ready["url"], tmp_path / "home")
        finally:
            process.terminate()
        assert process.wait(SECONDS) == 0


def test_serve_logs_migrations_start_and_stop(tmp_path: Path, empty_database_url: str) -> None:
    admin = Cli(tmp_path / "admin", {"RECOLLECT_DATABASE_URL": empty_database_url})
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            [*COMMAND, "serve", "--port", "0", "--json"],
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment(**admin.variables),
        ) as process,
    ):
        assert process.stdout is not None
        try:
            assert json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
        assert process.wait(SECONDS) == 0
    lines = (tmp_path / "log").read_text()
    order = ["migrated the database to 0001", "started", "stopping", "stopped"]
    places = [lines.index(each) for each in order]
    assert places == sorted(places)
    assert "without TLS" not in lines


@pytest.mark.parametrize(
    ("host", "proxies", "is_warned"),
    [
        ("0.0.0.0", (), True),
        ("::", (), True),
        ("192.0.2.7", (), True),
        ("0.0.0.0", ("192.0.2.1",), False),
        ("127.0.0.1", (), False),
        ("::1", (), False),
    ],
)
def test_serve_warns_of_a_network_without_tls(
    host: str,
    proxies: tuple[str, ...],
    is_warned: bool,
    log_shown: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    warn_without_tls(Settings(host=host, trusted_proxies=proxies))
    assert ("listening on a network without TLS" in capsys.readouterr().err) is is_warned


def _check_keys(admin: Cli, url: str, home: Path) -> None:
    created = admin.json("keys", "create", "--owner", "anna", "--label", "laptop")
    named = {"RECOLLECT_API_URL": url, "RECOLLECT_API_KEY": created["key"]}
    client = Cli(home, {**named, "RECOLLECT_SYNC": "off"})
    assert client.json("status")["stats"]["memories"] == 0
    # An empty name, such as an unset variable, opens no memories.
    assert admin.error("keys", "create", "--owner", "")[0] == 2
    assert admin.error("keys", "create", "--owner", " ")[0] == 2
    listed = admin("keys", "list", "--json").stdout
    assert created["id"] in listed
    assert created["key"] not in listed
    assert "laptop" in admin("keys", "list").stdout
    assert admin.json("keys", "revoke", created["id"])["revoked"] == created["id"]
    code, error = client.error("status")
    assert (code, error["type"]) == (4, "urn:recollect:problem:not-allowed")
    assert admin.error("keys", "revoke", created["id"])[0] == 3
    assert admin.error("keys", "revoke", "01890a5d")[0] == 3


@pytest.mark.parametrize("full", [(), ("--full",)])
def test_doctor_on_a_named_database(
    tmp_path: Path, database_url: str, full: tuple[str, ...]
) -> None:
    cli = Cli(tmp_path / "home", {"RECOLLECT_DATABASE_URL": database_url})
    report = cli.json("doctor", *full)
    found = {check["name"]: check["status"] for check in report["checks"]}
    assert found["database"] == "ok"
    assert found.get("row-level security") == ("ok" if full else None)
