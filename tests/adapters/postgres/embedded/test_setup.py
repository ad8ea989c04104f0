"""What a new cluster looks like: private, durable, and logging nothing of what is stored in it."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.waiting import wait_until

from recollect.adapters.postgres.embedded import EmbeddedPostgres
from recollect.adapters.postgres.embedded.locations import (
    ROLE,
    SUPERUSER,
    Passwords,
    find_postmaster,
    make_folder,
)

Embed = Callable[..., EmbeddedPostgres]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def ask(url: str, query: str) -> object:
    with psycopg.connect(url) as connection:
        (answer,) = connection.execute(query).fetchone() or (None,)
        return answer


def test_files_are_private(embed: Embed) -> None:
    before = os.umask(0)
    try:
        with embed() as url:
            folder = embed().folder
            sockets = folder / "run"
            assert (mode(folder / "data"), mode(folder / "log"), mode(sockets)) == (0o700,) * 3
            assert mode(folder / "pgpass") == 0o600
            assert mode(folder) == (0o711 if os.geteuid() == 0 else 0o700)
            assert str(sockets).replace("/", "%2F") in url
    finally:
        os.umask(before)


def test_a_folder_is_there_with_its_mode_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may look at it at any moment, and check whether its account can enter."""
    new, really = tmp_path / "new", Path.chmod

    def chmod(path: Path, mode: int) -> None:
        assert not new.exists()
        really(path, mode)

    monkeypatch.setattr(Path, "chmod", chmod)
    make_folder(new, 0o711)
    assert mode(new) == 0o711


def test_a_folder_that_another_process_made_meanwhile_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "new"

    def chmod(path: Path, mode: int) -> None:
        theirs.mkdir(0o750)
        (theirs / "start.lock").touch()

    monkeypatch.setattr(Path, "chmod", chmod)
    make_folder(theirs, 0o711)
    assert mode(theirs) == 0o750
    assert list(tmp_path.iterdir()) == [theirs]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("fsync", "on"),
        ("full_page_writes", "on"),
        ("synchronous_commit", "on"),
        ("data_checksums", "on"),
        ("listen_addresses", ""),
        ("password_encryption", "scram-sha-256"),
        ("server_encoding", "UTF8"),
        ("timezone", "UTC"),
        ("shared_buffers", "128MB"),
    ],
)
def test_settings(setting: str, value: str, settings: dict[str, str]) -> None:
    assert settings[setting.lower()] == value


@pytest.fixture(scope="module")
def settings(open_folder: Path, installation: Path) -> dict[str, str]:
    embedded = EmbeddedPostgres(open_folder / "settings", installation=installation)
    with embedded as url, psycopg.connect(url) as connection:
        shown = connection.execute("show all").fetchall()
    return {name.lower(): value for name, value, _ in shown}


def test_the_role_is_ordinary_and_owns_its_database(embed: Embed) -> None:
    with embed() as url:
        assert ask(url, "select current_user::text") == ROLE
        assert ask(url, "show is_superuser") == "off"
        assert ask(url, "select '[1,0]'::halfvec <=> '[0,1]'::halfvec") == 1.0
        with psycopg.connect(url) as connection:
            connection.execute("create extension pg_trgm")
            connection.execute("create table kept (id int)")


def test_a_wrong_password_is_refused(embed: Embed) -> None:
    with embed() as url, pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(url, password="guessed")


def test_text_search_knows_punctuation_and_capitals_beyond_ascii(
    embed: Embed,
) -> None:
    with embed() as url:
        words = ask(url, "select to_tsvector('simple', '“Grüße”—ÉCOLE')::text")
    assert words == "'grüße':1 'école':2"


def test_passwords_are_random_and_in_no_command_line(embed: Embed, home: Path) -> None:
    with embed(), embed(home / "other"):
        passwords = [
            Passwords.read(folder).of(role)
            for folder in (home / "postgres", home / "other" / "postgres")
            for role in (ROLE, SUPERUSER)
        ]
        shown = b"".join(_command_lines())
    assert len(set(passwords)) == 4
    assert b"log_directory" in shown  # the server's command line was among them
    assert not [password for password in passwords if password.encode() in shown]


def _command_lines() -> Iterator[bytes]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            yield (process / "cmdline").read_bytes()
        except OSError:  # it has ended meanwhile
            continue


def test_no_text_of_a_memory_reaches_the_logs(embed: Embed) -> None:
    embedded = embed()
    with embedded as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("create table t (content text check (length(content) < 5))")
            with pytest.raises(psycopg.errors.CheckViolation):
                connection.execute("insert into t values (%s)", ["tell-nobody"])
            with pytest.raises(psycopg.errors.SyntaxError):
                connection.execute("select tell-nobody from where")
            with pytest.raises(psycopg.errors.InvalidTextRepresentation):
                connection.execute("select %s::int", ["tell-nobody"])
        crash_a_backend(url, "select 'tell-nobody', pg_backend_pid(), pg_sleep(60)")

    def logs() -> str:
        return "".join(path.read_text() for path in (embedded.folder / "log").iterdir())

    # The process that writes the log outlives the server by a moment.
    wait_until(lambda: "terminated by signal" in logs())
    assert "tell-nobody" not in logs()


def crash_a_backend(url: str, statement: str) -> None:
    """Send SIGSEGV to the backend while it runs `statement`."""
    with psycopg.connect(url, autocommit=True) as watcher:
        runner = psycopg.connect(url, autocommit=True)
        runner.pgconn.send_query(statement.encode())
        running = "select count(*) from pg_stat_activity where pid = %s and state = 'active'"
        pid = runner.info.backend_pid
        while watcher.execute(running, [pid]).fetchone() != (1,):
            pass
        os.kill(pid, signal.SIGSEGV)
        runner.close()


def test_the_server_is_cut_off_from_the_process_that_started_it(
    embed: Embed,
) -> None:
    embedded = embed()
    with embedded:
        pid = find_postmaster(embedded.folder / "data")
        assert pid is not None
        assert os.getsid(pid) != os.getsid(0)  # Ctrl-C does not reach it
        descriptors = {os.path.realpath(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()}
        assert not [name for name in descriptors if name.endswith(".lock")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["with space, and comma", "long" * 30, "it's"])
def test_a_home_whose_path_suits_no_socket(embed: Embed, home: Path, name: str) -> None:
    embedded = embed(home / name)
    with embedded as url:
        assert ask(url, "select 1") == 1
        sockets = Path(str(conninfo_to_dict(url)["host"]))
        assert sockets.parent == Path("/tmp")
        assert mode(sockets) == 0o700
    assert not sockets.exists()
