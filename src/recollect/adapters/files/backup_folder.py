"""A folder of backups, each a subfolder named by its time.

A backup is written to a hidden folder and renamed once everything is on disk: a backup with its
final name is complete, even after a crash or a power failure.
"""

from __future__ import annotations

import gzip
import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from recollect.adapters.files.file_lock import FileLock
from recollect.core.admin.backup import Checksum, Manifest, Table
from recollect.core.errors import InvalidInput, StoreBusy, StoreError

_MANIFEST: Final = "manifest.json"
_PARTIAL: Final = ".partial-"
_ERASURES: Final = "erasures"
_STORE: Final = "memories.db"
_FAST: Final = 1


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that is complete, or one that is being written."""

    path: Path

    @property
    def store(self) -> Path:
        """The SQLite file, in the backup of a local store."""
        return self.path / _STORE

    @property
    def erasures(self) -> Path:
        """The erasure log as it was when the backup was made."""
        return self.path / _ERASURES

    def read_manifest(self) -> Manifest:
        return Manifest.from_json((self.path / _MANIFEST).read_text())

    @contextmanager
    def write_table(self, name: str) -> Iterator[gzip.GzipFile]:
        with gzip.open(self._table(name), "wb", compresslevel=_FAST) as file:
            yield file

    def read_table(self, table: Table) -> Iterator[bytes]:
        """Yield the rows; raise StoreError at the end if they are not what was written."""
        checksum = Checksum()
        try:
            with gzip.open(self._table(table.name), "rb") as file:
                for row in file:
                    checksum.add(row)
                    yield row
        except (OSError, EOFError, zlib.error) as error:
            raise _damage_error(self.path, table.name) from error
        if (checksum.rows, str(checksum)) != (table.rows, table.checksum):
            raise _damage_error(self.path, table.name)

    def _table(self, name: str) -> Path:
        return self.path / f"{name}.copy.gz"


def _damage_error(path: Path, name: str) -> StoreError:
    return StoreError(
        f"the backup {path} is damaged: {name} is not what was written",
        remedy="Nothing was changed. Restore another backup.",
    )


def backup_name(now: datetime) -> str:
    return f"{now:%Y%m%dT%H%M%S.%fZ}"


@contextmanager
def new_backup(folder: Path, now: datetime) -> Iterator[Backup]:
    """Yield a backup to fill. It gets its final name at the end, unless there was an error."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    if not lock.acquire():
        raise StoreBusy(
            f"another backup is being written to {folder}",
            remedy="Wait for it to finish, or use another directory.",
        )
    name = backup_name(now)
    partial = folder / f"{_PARTIAL}{name}"
    try:
        for left in folder.glob(f"{_PARTIAL}*"):  # of a process that was killed
            shutil.rmtree(left)
        partial.mkdir(mode=0o700)
        yield Backup(partial)
        _sync_to_disk(partial)
        partial.rename(folder / name)
        _sync_file(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    finally:
        lock.release()


def write_manifest(backup: Backup, manifest: Manifest) -> None:
    (backup.path / _MANIFEST).write_text(manifest.to_json())


def list_backups(folder: Path) -> list[Backup]:
    """Return the complete backups, newest last."""
    found = sorted(path.parent for path in folder.glob(f"*/{_MANIFEST}"))
    return [Backup(path) for path in found if not path.name.startswith(".")]


def find_backup(path: Path) -> Backup:
    """Return the backup at a path, or the newest one in a folder of backups."""
    if (path / _MANIFEST).is_file() and not path.name.startswith(_PARTIAL):
        return Backup(path)
    with suppress(IndexError):
        return list_backups(path)[-1]
    raise InvalidInput(
        f"there is no backup in {path}",
        field="DIR",
        remedy="Name a directory that `recollect backup` has written to.",
    )


def remove_old(folder: Path, keep: int) -> list[Path]:
    """Remove all but the newest `keep`. The manifest goes first: half a backup is no backup."""
    old = [backup.path for backup in list_backups(folder)[:-keep]]
    for path in old:
        (path / _MANIFEST).unlink()
        shutil.rmtree(path)
    return old


def _sync_to_disk(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.chmod(0o700 if path.is_dir() else 0o600)  # whoever copies the folder copies its modes
        _sync_file(path)
    _sync_file(folder)


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
