"""A file is either the old one or the new one, whatever happens in between."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.adapters.agents.machines import COMMAND, folder_texts, paths, set_up_client
from tests.adapters.agents.samples import CURSOR
from tests.waiting import SECONDS

from recollect.adapters.agents.files import edit, read
from recollect.adapters.agents.install import install
from recollect.core.errors import Conflict, InvalidInput, StoreError

# A process that is killed just before the file is renamed, or even before it is flushed.
KILLED = """
import os, signal, sys
from pathlib import Path
from recollect.adapters.agents import files
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
setattr(*{"move": (Path, "replace", die), "sync": (os, "fsync", die)}[sys.argv[2]])
files.edit(Path(sys.argv[1]), lambda text: text + "more")
"""


def upper(text: str) -> str:
    return text.upper()


def test_mode_marks_and_line_ends_stay(tmp_path: Path) -> None:
    path = tmp_path / "settings"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    path.chmod(0o640)
    edited = edit(path, upper)
    assert path.read_bytes() == b"\xef\xbb\xbfONE\r\nTWO"
    assert path.stat().st_mode & 0o777 == 0o640
    assert edited.backup is not None
    assert edited.backup.read_bytes() == b"\xef\xbb\xbfone\r\ntwo"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "settings"
    real.parent.mkdir()
    real.write_text("one")
    link = tmp_path / "settings"
    link.symlink_to(real)
    edited = edit(link, upper)
    assert link.is_symlink()
    assert real.read_text() == "ONE"
    assert edited.backup is not None
    assert edited.backup.parent == real.parent


def test_no_backup_is_ever_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "settings"
    path.write_text("0")
    for number in range(5):
        edit(path, lambda text: str(int(text) + 1))
        assert path.read_text() == str(number + 1)
    backups = [path.read_text() for path in tmp_path.glob("settings.recollect-backup-*")]
    assert sorted(backups) == ["0", "1", "2", "3", "4"]


def test_nothing_to_change_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "settings"
    path.write_text("same")
    before = path.stat()
    assert not edit(path, lambda text: text).changed
    after = path.stat()  # reading may change st_atime
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("moment", ["move", "sync"])
def test_a_killed_run_leaves_the_old_file_and_the_next_one_works(
    moment: str, tmp_path: Path
) -> None:
    path = tmp_path / "settings"
    path.write_text("old")
    done = subprocess.run([sys.executable, "-c", KILLED, path, moment], timeout=SECONDS)
    assert done.returncode == -9
    assert path.read_text() == "old"
    assert edit(path, upper).changed
    assert path.read_text() == "OLD"


def test_what_another_program_writes_meanwhile_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "settings"
    path.write_text("one")
    seen: list[str] = []

    def change(text: str) -> str:
        seen.append(text)
        if len(seen) == 1:
            path.write_text("two")  # just now
        return f"{text}+ours"

    edited = edit(path, change)
    assert seen == ["one", "two"]
    assert path.read_text() == "two+ours"
    assert edited.backup is not None
    assert edited.backup.read_text() == "two"
    assert len(folder_texts(tmp_path)) == 2


def test_edit_stops_when_the_file_keeps_changing(tmp_path: Path) -> None:
    path = tmp_path / "settings"
    path.write_text("0")

    def change(text: str) -> str:
        path.write_text(str(int(text) + 1))
        return "ours"

    with pytest.raises(Conflict, match="another program"):
        edit(path, change)
    assert list(tmp_path.iterdir()) == [path]


def test_several_at_once_end_as_one(tmp_path: Path) -> None:
    client, machine = set_up_client("cursor", tmp_path)
    (path,) = paths(client, machine)
    with ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(install, client, machine, "user", COMMAND) for _ in range(8)]
    assert any(edited.changed for run in runs for edited in run.result())
    text = path.read_text()
    assert text.count('"recollect"') == 1
    for backup in path.parent.glob("*.recollect-backup-*"):
        assert backup.read_text() in (CURSOR, text)
    assert not list(path.parent.glob("*.new"))


def test_edit_reports_a_file_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe{\x00}\x00")
    with pytest.raises(InvalidInput, match="not UTF-8"):
        edit(binary, upper)
    assert binary.read_bytes() == b"\xff\xfe{\x00}\x00"
    with pytest.raises(StoreError, match="cannot be read"):
        read(tmp_path)
    blocked = tmp_path / "file"
    blocked.write_text("x")
    with pytest.raises(StoreError, match="cannot be"):
        edit(blocked / "settings", lambda _: "new")


@pytest.mark.skipif(
    os.geteuid() == 0, reason="root can write everywhere: run `make test` as another user"
)
def test_edit_reports_a_folder_that_is_not_writable(tmp_path: Path) -> None:
    path = tmp_path / "settings"
    path.write_text("x")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="written"):
            edit(path, upper)
    finally:
        tmp_path.chmod(0o700)
    assert path.read_text() == "x"
