"""Edit a user's file without ever leaving it half-written, lost or corrupted.

The new text is written next to the file, flushed to disk and moved into place; first, a backup is
made that no later run overwrites. Concurrent changes are detected, and the edit is applied again to
the new content.
"""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from recollect.core.errors import Conflict, InvalidInput, StoreError

_BOM: Final = b"\xef\xbb\xbf"
_MAX_BYTES: Final = 64 * 1024 * 1024
_ATTEMPTS: Final = 5
_BACKUP: Final = ".recollect-backup-"
_NEW_MODE: Final = 0o600  # such files come to hold keys


@dataclass(frozen=True, slots=True)
class Edited:
    """The result of an edit; `backup` is None if there was no file, or nothing changed."""

    path: Path
    changed: bool
    backup: Path | None = None


def read(path: Path) -> str:
    """Return the file's text; empty if there is no file."""
    return _text(_bytes(path), path)


def edit(path: Path, change: Callable[[str], str | None]) -> Edited:
    """Replace the text with the result of `change`; None removes the file."""
    target = Path(os.path.realpath(path))
    for _ in range(_ATTEMPTS):
        before = _bytes(target)
        text = _text(before, path)
        changed = change(text)
        if changed == text:
            return Edited(path, changed=False)
        if changed is None:
            target.unlink(missing_ok=True)
            return Edited(path, changed=True)
        try:
            backup = _backup(target) if before is not None else None
            if _replace(target, before, changed):
                return Edited(path, changed=True, backup=backup)
        except OSError as error:
            raise _access_error(path, "written", error) from error
        if backup is not None:
            backup.unlink()
    raise Conflict(
        f"{path} is being changed by another program",
        remedy="Close the client it belongs to, and try again.",
    )


def backups(path: Path) -> list[Path]:
    """The backups of a file, oldest first."""
    target = Path(os.path.realpath(path))
    return sorted(target.parent.glob(f"{glob.escape(target.name)}{_BACKUP}*"))


def _bytes(path: Path) -> bytes | None:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InvalidInput(
                f"{path} is too large to be a settings file",
                field="file",
                remedy="Check what it is, or make the change by hand; --print shows it.",
            )
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _access_error(path, "read", error) from error


def _text(data: bytes | None, path: Path) -> str:
    try:
        return (data or b"").removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path} was not changed: it is not UTF-8 text",
            field="file",
            remedy="Convert the file, or make the change by hand; --print shows it.",
        ) from error


def _backup(path: Path) -> Path:
    """Copy the file next to itself, under an unused name."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    number = 0
    while True:
        number += 1
        more = "" if number == 1 else f"-{number}"
        backup = path.with_name(f"{path.name}{_BACKUP}{stamp}{more}")
        try:
            handle = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _NEW_MODE)
        except FileExistsError:
            continue
        with os.fdopen(handle, "wb") as copy, path.open("rb") as original:
            shutil.copyfileobj(original, copy)
            copy.flush()
            os.fsync(copy.fileno())
        shutil.copymode(path, backup)
        return backup


def _replace(target: Path, before: bytes | None, text: str) -> bool:
    """Move the new text into place. Returns False if the file has changed."""
    data = (_BOM if (before or b"").startswith(_BOM) else b"") + text.encode()
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".new", dir=target.parent)
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.chmod(target.stat().st_mode & 0o7777 if before is not None else _NEW_MODE)
        if _bytes(target) != before:
            return False
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)
    _settle(target.parent)
    return True


def _settle(folder: Path) -> None:
    """Flush the move itself to disk, if the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _access_error(path: Path, done: str, error: OSError) -> StoreError:
    return StoreError(
        f"{path} cannot be {done}: {error.strerror or type(error).__name__}",
        remedy="Check who owns the file and its folder, and whether the disk is full.",
    )
