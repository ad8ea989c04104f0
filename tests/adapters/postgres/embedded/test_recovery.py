"""After a crash, a kill or a reboot, the next start comes up with every committed row."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from tests.waiting import wait_until

from recollect.adapters.postgres.embedded import EmbeddedPostgres
from recollect.adapters.postgres.embedded.account import account_for
from recollect.adapters.postgres.embedded.locations import find_postmaster, is_alive

pytestmark = pytest.mark.slow

Embed = Callable[..., EmbeddedPostgres]
Spawn = Callable[[], subprocess.Popen[str]]


def store_one_row(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("create table kept as select 42 as answer")


def assert_row_is_there(url: str) -> None:
    with psycopg.connect(url) as connection:
        assert connection.execute("select answer from kept").fetchone() == (42,)


def kill_server(data: Path) -> None:
    pid = find_postmaster(data)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(pid))


def test_a_killed_server_recovers(embed: Embed) -> None:
    user = embed()
    store_one_row(user.start())
    kill_server(user.folder / "data")
    with embed() as url:
        assert_row_is_there(url)


def test_a_killed_server_recovers_while_an_old_backend_is_still_busy(
    embed: Embed,
) -> None:
    user = embed()
    url = user.start()
    store_one_row(url)
    busy = psycopg.connect(url)
    busy.pgconn.send_query(b"select count(*) from generate_series(1, 3000000)")
    kill_server(user.folder / "data")
    with embed() as url:
        assert_row_is_there(url)
    busy.close()


def test_the_pid_of_a_dead_process_is_ignored(embed: Embed) -> None:
    with embed() as url:
        store_one_row(url)
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    leave_pid_file(embed().folder / "data", ended.pid)
    with embed() as url:
        assert_row_is_there(url)


def test_the_pid_of_a_stranger_is_ignored_and_the_stranger_lives(
    embed: Embed,
) -> None:
    with embed() as url:
        store_one_row(url)
    account = account_for("nobody")
    # Under the account itself: Postgres would take it for its predecessor.
    with subprocess.Popen(["sleep", "600"], user=account.uid, group=account.gid) as stranger:
        try:
            leave_pid_file(embed().folder / "data", stranger.pid)
            with embed() as url:
                assert_row_is_there(url)
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_the_pid_of_this_very_process_is_ignored(embed: Embed) -> None:
    with embed() as url:
        store_one_row(url)
    leave_pid_file(embed().folder / "data", os.getpid())
    with embed() as url:
        assert_row_is_there(url)


def leave_pid_file(data: Path, pid: int) -> None:
    """Write the lock files of data folder and socket as Postgres 18 does."""
    sockets = data.parent / "run"
    lines = [str(pid), str(data), "1700000000", "5432", str(sockets), "", "", "ready"]
    for file in (data / "postmaster.pid", sockets / ".s.PGSQL.5432.lock"):
        file.write_text("\n".join(lines) + "\n")
        file.chmod(0o600)
        os.chown(file, data.stat().st_uid, data.stat().st_gid)


@pytest.mark.parametrize("stage", ["data.new", "data", "data/postmaster.pid"])
def test_a_first_start_killed_half_way_is_finished_by_the_next(
    embed: Embed,
    spawn_user: Spawn,
    home: Path,
    stage: str,
) -> None:
    with embed(home.with_name("other")):
        pass  # so that the installation exists, and the home below reaches its stages at once
    killed = spawn_user()
    wait_until(lambda: (home / "postgres" / stage).exists() or killed.poll() is not None)
    killed.kill()
    killed.wait()
    with embed() as url:
        store_one_row(url)
        assert_row_is_there(url)
    assert not (home / "postgres" / "data.new").exists()
    assert find_postmaster(home / "postgres" / "data") is None


@pytest.mark.parametrize("stage", ["extract/data", "probe/data"])
def test_an_installation_killed_half_way_is_finished_by_the_next(
    embed: Embed, home: Path, stage: str
) -> None:
    own = home / "postgres" / "installation"
    killed = subprocess.Popen(
        [sys.executable, "-c", INSTALLER, str(home)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    wait_until(lambda: (own / stage).exists() or killed.poll() is not None)
    killed.kill()
    killed.wait()
    with embed(installation=None) as url, psycopg.connect(url) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    assert {path.name for path in own.iterdir() if path.is_dir()} == {
        next(own.glob("pg0-*")).name,
    }
    assert not [line for line in _command_lines() if str(own / stage.split("/")[0]) in line]


INSTALLER = """
import sys
from pathlib import Path
from recollect.adapters.postgres.embedded import EmbeddedPostgres
EmbeddedPostgres(Path(sys.argv[1])).start()
"""


def _command_lines() -> Iterator[str]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            yield os.fsdecode((process / "cmdline").read_bytes())
        except OSError:  # it has ended meanwhile
            continue
