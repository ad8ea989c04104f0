"""Bad input and broken stores through the command: each has its exit code and its remedy."""

from __future__ import annotations

import json
import os
import pwd
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.serving import running
from tests.shells.cli.commands import Cli, client_of

from recollect.adapters.sqlite.fast_recall import FastStore

SAME_START = ("01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058")


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    for name in ("RECOLLECT_API_URL", "RECOLLECT_API_KEY", "RECOLLECT_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return Cli(tmp_path / "home")


@pytest.mark.parametrize(
    ("arguments", "code", "remedy"),
    [
        (("remember", ""), 2, "Write what to remember"),
        (("remember", "  \n "), 2, "Write what to remember"),
        (("remember", "x" * 100_001), 2, "import --format document"),
        (("remember", "x", "--importance", "1.01"), 2, "from 0"),
        (("remember", "x", "--importance", "nan"), 2, "from 0"),
        (("remember", "x", "--category", "gossip"), 2, "Choose one of: fact"),
        (("recall", "x", "--category", "gossip"), 2, "Choose one of: fact"),
        (("show", "01890a5d-ac96-774b-bcce-000000000000"), 3, "recollect list"),
        (("show", "not an id"), 2, "4 digits of its end"),
        (("show", "01890a5d"), 2, "more digits"),
        (("forget", "01890a5d"), 2, "more digits"),
        (("remember", "other text", "--id", SAME_START[0]), 5, ""),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else None,
)
def test_bad_input(cli: Cli, arguments: tuple[str, ...], code: int, remedy: str) -> None:
    for id in SAME_START:
        cli.json("remember", "kept", "--id", id)
    found, error = cli.error(*arguments)
    assert found == code
    assert error["remedy"]
    assert remedy in error["remedy"]
    assert cli.json("status")["stats"]["memories"] == 2


@pytest.mark.parametrize("command", [["remember"], ["update", SAME_START[0], "--content", "-"]])
def test_broken_utf8_on_stdin(cli: Cli, command: list[str]) -> None:
    cli.json("remember", "kept", "--id", SAME_START[0])
    done = cli.process(*command, input=b"caf\xe9")
    assert done.returncode == 0
    assert b"from byte 3 on" in done.stderr
    assert b"iconv" in done.stderr
    assert cli.json("list")["memories"][0]["content"] == "caf\N{REPLACEMENT CHARACTER}"


def test_broken_utf8_in_an_argument(cli: Cli) -> None:
    done = cli.process("remember", os.fsdecode(b"the caf\xe9 at noon"))
    assert done.returncode == 0
    (hit,) = cli.json("recall", "noon")["hits"]
    assert hit["memory"]["content"] == "the caf\N{REPLACEMENT CHARACTER} at noon"


def test_endless_stdin_is_refused(cli: Cli) -> None:
    done = cli.process("remember", input=b"x" * 1_000_000)
    assert done.returncode == 2
    shown = b" ".join(done.stderr.split())
    assert b"at most 100,000 characters" in shown
    assert b"recollect import --format document FILE" in shown


def test_a_locked_database(cli: Cli) -> None:
    id = cli.json("remember", "kept")["id"]
    with closing(sqlite3.connect(cli.home / "memories.db", isolation_level=None)) as other:
        other.execute("begin immediate")
        hurried = Cli(cli.home, {"RECOLLECT_TIMEOUT_FACTOR": "1"})
        code, error = hurried.error("remember", "more")
        assert code == 6
        assert error["type"] == "urn:recollect:problem:store-busy"
        assert "Try again" in error["remedy"]
        assert cli.json("recall", "kept")["hits"][0]["memory"]["id"] == id
        other.execute("rollback")
    assert cli.json("remember", "more")["version"] == 1


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Run as another user for a while, since root may write anything. That user may be unable to
    read Python's own files, so whatever runs here must have run before, with nothing to import.
    """
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("mode", [0o777, 0o555], ids=["file", "folder"])
def test_a_read_only_database(open_folder: Path, mode: int) -> None:
    cli = Cli(open_folder / f"read-only-{mode}")
    id = cli.json("remember", "kept")["id"]
    cli.json("show", id)
    assert cli.json("recall", "kept")["hits"][0]["memory"]["id"] == id
    assert not (cli.home / "memories.db-wal").exists()
    (cli.home / "memories.db").chmod(0o444)
    cli.home.chmod(mode)
    with ordinary_user():
        code, error = cli.error("remember", "more")
        assert cli.json("show", id)["content"] == "kept"
        assert cli.json("recall", "kept")["hits"][0]["memory"]["id"] == id
        with closing(FastStore(str(cli.home / "memories.db"), 1)) as hook:
            assert hook._connection.execute("SELECT content FROM memories").fetchone()
    assert (code, error["type"]) == (6, "urn:recollect:problem:store-read-only")
    assert "RECOLLECT_HOME" in error["remedy"]


def test_doctor_does_not_advise_to_replace_a_database_that_cannot_be_opened(
    open_folder: Path,
) -> None:
    cli = Cli(open_folder / "closed-cli")
    cli.json("remember", "kept")
    cli("doctor", "--json")
    (cli.home / "memories.db").chmod(0o000)
    cli.home.chmod(0o755)
    with ordinary_user():
        result = cli("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert checks["local store"]["status"] == "fail"
    assert "cannot be opened" in checks["local store"]["detail"]
    assert "backup" not in checks["local store"]["remedy"]


def test_a_damaged_database(cli: Cli) -> None:
    cli.home.mkdir()
    (cli.home / "memories.db").write_bytes(b"no database" * 1000)
    code, error = cli.error("recall", "x")
    assert code == 6
    assert "backup" in error["remedy"]


def test_a_server_that_goes_away(tmp_path: Path, database_url: str) -> None:
    with running(database_url, tmp_path / "server") as server:
        cli = client_of(server, tmp_path / "home")
        cli.json("remember", "kept")
    for command in (("recall", "kept"), ("remember", "more"), ("status",)):
        code, error = cli.error(*command)
        assert (code, error["type"]) == (6, "urn:recollect:problem:store-unavailable")
        assert "recollect serve" in error["remedy"]


def test_a_key_that_is_not_known(tmp_path: Path, database_url: str) -> None:
    with running(database_url, tmp_path / "server") as server:
        code, error = client_of(server, tmp_path / "home", "rk_wrong").error("status")
    assert code == 4
    assert error["remedy"]
