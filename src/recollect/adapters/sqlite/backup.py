"""Back up the file of the local store while it is in use, with SQLite's own backup API."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

from recollect import __version__
from recollect.adapters.files.backup_folder import Backup, write_manifest
from recollect.adapters.sqlite.errors import damaged_error, translate
from recollect.adapters.sqlite.schema.tables import VERSION
from recollect.core.admin.backup import Checksum, Manifest, Table, find_differences
from recollect.core.errors import InvalidInput, StoreError

# Tables with their own rows: not the word index, which is built from them.
_TABLES: Final = """
SELECT name FROM pragma_table_list
WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name
"""


def write_backup(path: Path, backup: Backup, now: datetime) -> Manifest:
    """Copy the store to the backup."""
    if not path.exists():
        raise InvalidInput(
            f"there is no local store at {path}",
            field="RECOLLECT_HOME",
            remedy="Set RECOLLECT_HOME to the directory that has one.",
        )
    _copy(path, backup.store)
    _set_log(backup.store, "DELETE")  # one file, which can be read on a read-only disk
    with _translate_errors(path), closing(_open(backup.store)) as copy:
        (version,) = copy.execute("PRAGMA user_version").fetchone()
    manifest = Manifest("sqlite", __version__, now, read_contents(backup.store), (str(version),))
    write_manifest(backup, manifest)
    return manifest


def load_backup(path: Path, backup: Backup, *, replace: bool = False) -> None:
    """Replace the store by the backup, as one transaction of its file."""
    if path.exists() and not replace:
        raise InvalidInput(
            f"there is a local store at {path} already",
            field="--into",
            remedy="Name another directory, or pass --replace to replace the store.",
        )
    manifest = backup.read_manifest()
    if manifest.revisions != (str(VERSION),):
        raise InvalidInput(
            f"the backup has another schema than this version reads; Recollect {manifest.made_by} "
            "made it",
            field="DIR",
            remedy=f"Restore it with Recollect {manifest.made_by}.",
        )
    if different := compare(backup.store, backup):
        raise StoreError(
            f"the backup {backup.path} is damaged: {', '.join(different)}",
            remedy="Nothing was changed. Restore another backup.",
        )
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _copy(backup.store, path)
    _set_log(path, "WAL")


def compare(path: Path, backup: Backup) -> list[str]:
    """Return the tables of a store that differ from the backup."""
    return find_differences(backup.read_manifest().tables, read_contents(path))


def read_contents(path: Path) -> tuple[Table, ...]:
    with _translate_errors(path), closing(_open(path)) as connection:
        (sound,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if sound != "ok":
            raise damaged_error(path, sound)
        names = [name for (name,) in connection.execute(_TABLES)]
        return tuple(_read_table(connection, name) for name in names)


def _read_table(connection: sqlite3.Connection, name: str) -> Table:
    checksum = Checksum()
    cursor = connection.execute(f'SELECT * FROM "{name}"')  # noqa: S608  # a name of the catalog
    columns = tuple(column for column, *_ in cursor.description)
    for row in cursor:
        checksum.add(repr(row).encode("utf-8", "surrogatepass"))
    return Table(name, columns, checksum.rows, str(checksum))


def _copy(source: Path, target: Path) -> None:
    if not target.exists():
        os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with (
        _translate_errors(source),
        closing(_open(source)) as origin,
        closing(sqlite3.connect(target)) as copy,
    ):
        origin.backup(copy)


def _set_log(path: Path, mode: str) -> None:
    with _translate_errors(path), closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise translate(error, path) from error


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
