"""The keys commands: over a server's API, on its database, and without a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.serving import Running
from tests.shells.cli.commands import Cli, client_of

from recollect.adapters.postgres.embedded import EmbeddedPostgres
from recollect.adapters.postgres.embedded.locations import runs

ON_THE_DATABASE = (
    ("keys", "list"),
    ("keys", "create"),
    ("keys", "rotate", "01890a5d"),
    ("keys", "revoke", "01890a5d"),
    ("audit", "--server"),
    ("erase", "--owner", "ada", "--server", "--yes"),
)


@pytest.mark.parametrize("command", ON_THE_DATABASE)
def test_without_a_server_every_command_says_the_same_and_starts_nothing(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    local = Cli(tmp_path / "home")
    local.json("remember", "Anna Berg works at Initech")
    code, error = local.error(*command)
    assert (code, error["detail"]) == (6, "the server is not running")
    assert "`recollect serve`" in error["remedy"]
    assert "--start" in error["remedy"]
    assert not (local.home / "postgres").exists()


def test_a_stopped_embedded_postgres_stays_stopped_unless_asked(tmp_path: Path) -> None:
    local = Cli(tmp_path / "home")
    created = local.json("keys", "create", "--start", "--role", "admin")
    assert not runs(local.home)
    assert local.error("keys", "list")[0] == 6
    postgres = EmbeddedPostgres(local.home)
    postgres.start()
    try:
        assert runs(local.home)
        assert [key["id"] for key in local.json("keys", "list")["keys"]] == [created["id"]]
        assert runs(local.home)  # another process started it, so it was left alone
    finally:
        postgres.stop()


def test_keys_are_managed_over_the_api_with_an_admin_key(server: Running, tmp_path: Path) -> None:
    admin = client_of(server, tmp_path / "home")
    created = admin.json(
        "keys", "create", "--label", "phone", "--role", "read-only", "--project", "shop",
        "--expires", "90d",
    )  # fmt: skip
    assert (created["role"], created["project"], created["last_used_at"]) == (
        "read-only",
        "shop",
        None,
    )
    assert created["expires_at"] is not None
    listed = admin("keys", "list", "--json").stdout
    assert created["key"] not in listed
    assert created["id"] in [key["id"] for key in json.loads(listed)["keys"]]
    shown = admin("keys", "list").stdout
    assert "phone" in shown
    assert "expires" in shown
    renewed = admin.json("keys", "rotate", created["id"], "--grace", "1h")
    assert renewed["key"] != created["key"]
    assert (renewed["label"], renewed["project"]) == ("phone", "shop")
    assert admin.json("keys", "revoke", created["id"])["revoked"] == created["id"]
    assert not (tmp_path / "home").exists()


def test_a_member_cannot_manage_keys(server: Running, tmp_path: Path) -> None:
    key = server.new_key(role="member")
    member = Cli(tmp_path / "home", {"RECOLLECT_API_URL": server.url, "RECOLLECT_API_KEY": key})
    code, error = member.error("keys", "list")
    assert (code, error["type"]) == (4, "urn:recollect:problem:forbidden")
    assert "recollect keys create --role admin" in error["remedy"]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (("create", "--role", "root"), "role"),
        (("create", "--expires", "soon"), "expires"),
        (("create", "--expires", "2020-01-01"), "expires_at"),
        (("rotate", "01890a5d", "--grace", "a week"), "grace"),
    ],
)
def test_what_makes_no_sense_is_refused(
    server: Running, tmp_path: Path, options: tuple[str, ...], field: str
) -> None:
    code, error = client_of(server, tmp_path / "home").error("keys", *options)
    assert (code, error["field"]) == (2, field)
