"""Translate errors of SQLite and the file system to Recollect's, in one place.

Each message names the file, because "database is locked" alone does not say which one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from recollect.core.errors import (
    InvalidInput,
    RecollectError,
    StoreBusy,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

# An extended result code carries its primary code in the low byte.
_PRIMARY: Final = 0xFF
_MIN_ROOM: Final = 1_000_000


def _busy_error(path: Path, detail: str) -> RecollectError:
    return StoreBusy(
        f"another process holds {path} ({detail})",
        remedy="Try again; if it persists, stop the process that is writing to it.",
    )


def read_only(path: Path, detail: str) -> RecollectError:
    return StoreReadOnly(
        f"{path} cannot be written ({detail})",
        remedy=f"Make {path} and its folder writable, or set RECOLLECT_HOME to one that is.",
    )


def spare_copies(path: Path) -> list[Path]:
    """Return where a complete copy may be while the file itself is overwritten."""
    name = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:16]
    folders = dict.fromkeys((Path("/dev/shm"), Path(tempfile.gettempdir())))  # noqa: S108  # 0600
    return [folder / f"recollect-{name}.db" for folder in folders]


def full(path: Path, detail: str) -> RecollectError:
    return StoreFull(
        f"there is no room left to write {path} ({detail})",
        remedy=f"Free some space on the disk that holds {path.parent}; what was stored is intact.",
    )


def _open_error(path: Path, detail: str) -> RecollectError:
    return StoreUnavailable(
        f"{path} cannot be opened ({detail})",
        remedy=f"Check that {path.parent} is a folder you may write to, or set RECOLLECT_HOME.",
    )


def moved_error(path: Path, detail: str) -> RecollectError:
    return StoreUnavailable(
        f"{path} was moved or removed while in use ({detail})",
        remedy="Put the file back where it was and try again; otherwise a new, empty store is "
        "created.",
    )


def damaged_error(path: Path, detail: str) -> RecollectError:
    for copy in spare_copies(path):
        if copy.exists():
            return StoreUnavailable(
                f"{path} is damaged: an erasure on a full disk was interrupted",
                remedy=f"Nothing is lost: make some room, and put {copy} in its place.",
            )
    return StoreUnavailable(
        f"{path} is damaged, or is not a database ({detail})",
        remedy=f"Put a backup in its place, or save what can still be read with `sqlite3 {path} "
        ".recover`. If you move it away, a new and empty store is made.",
    )


def _failure(path: Path, detail: str) -> RecollectError:
    return StoreUnavailable(
        f"SQLite could not work on {path} ({detail})",
        remedy="Try again; `recollect doctor` checks the file and its folder.",
    )


def cannot_keep_log(code: int, path: Path) -> bool:
    """Return whether SQLite failed to create its log or the index of the log."""
    is_read_only = code & _PRIMARY == sqlite3.SQLITE_READONLY
    is_moved = code == sqlite3.SQLITE_READONLY_DBMOVED
    return (is_read_only and not is_moved) or is_without_room(code, path)


def is_without_room(code: int, path: Path) -> bool:
    """Return whether SQLite failed because the disk is full: it reports that only for the database
    itself, not for the files next to it.
    """
    if code in (sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMMAP):
        return True
    if code & _PRIMARY not in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        return code & _PRIMARY == sqlite3.SQLITE_FULL
    try:
        return shutil.disk_usage(path.parent).free < _MIN_ROOM
    except OSError:
        return False


_Explanation = Callable[[Path, str], RecollectError]
_BY_CODE: Final[Mapping[int, _Explanation]] = {
    sqlite3.SQLITE_BUSY: _busy_error,
    sqlite3.SQLITE_LOCKED: _busy_error,
    sqlite3.SQLITE_PROTOCOL: _busy_error,  # the write-ahead log was contended for too long
    sqlite3.SQLITE_READONLY: read_only,
    sqlite3.SQLITE_READONLY_DBMOVED: moved_error,
    sqlite3.SQLITE_FULL: full,
    sqlite3.SQLITE_CANTOPEN: _open_error,
    sqlite3.SQLITE_PERM: _open_error,
    sqlite3.SQLITE_AUTH: _open_error,
    sqlite3.SQLITE_CORRUPT: damaged_error,
    sqlite3.SQLITE_NOTADB: damaged_error,
    sqlite3.SQLITE_FORMAT: damaged_error,
}
_BY_ERRNO: Final[Mapping[int, _Explanation]] = {
    errno.EROFS: read_only,
    errno.ENOSPC: full,
    errno.EDQUOT: full,
}


def translate(error: sqlite3.Error | OSError | UnicodeEncodeError, path: Path) -> Exception:
    """Return the error to raise instead, which says what to do. An error without a result code is a
    misuse of the driver, our own bug, and is returned unchanged.
    """
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput(
            "a text holds half of a surrogate pair (broken UTF-8), which cannot be stored",
            field="text",
            remedy="Convert the text to valid UTF-8.",
        )
    if isinstance(error, OSError):
        return _BY_ERRNO.get(error.errno or 0, _open_error)(path, error.strerror or str(error))
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return error
    if is_without_room(code, path):
        return full(path, str(error))
    explanation = _BY_CODE.get(code) or _BY_CODE.get(code & _PRIMARY, _failure)
    return explanation(path, str(error))
