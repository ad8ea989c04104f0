"""Small files of the home whose loss does no harm: the time of the last backup and the report of a
benchmark, for the page; which hints were shown; vectors of fixed texts.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

from recollect.core.admin.backup import Kind
from recollect.core.admin.machine import LastBackup, OwnBenchmark, read_own_benchmark
from recollect.core.recall.space import Space


def own_benchmark_folder(home: Path) -> Path:
    return home / "bench" / "own"


def read_benchmark(home: Path) -> OwnBenchmark | None:
    file = own_benchmark_folder(home) / "report.json"
    try:
        made_at = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        return read_own_benchmark(json.loads(file.read_text("utf-8")), made_at)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def record_backup(home: Path, kind: Kind, backup: LastBackup) -> None:
    """Record the last backup. The backup does not fail if this cannot be written."""
    text = json.dumps({"made_at": backup.made_at.isoformat(), "is_verified": backup.is_verified})
    with suppress(OSError):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = _backup_file(home, kind)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as record:
            record.write(text)


def read_last_backup(home: Path, kind: Kind) -> LastBackup | None:
    try:
        values = json.loads(_backup_file(home, kind).read_text("utf-8"))
        return LastBackup(datetime.fromisoformat(values["made_at"]), bool(values["is_verified"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _backup_file(home: Path, kind: Kind) -> Path:
    return home / f"last-backup-{kind}.json"


# Which hints were shown today: each is shown once a day.


class ShownHints:
    """The file in a home."""

    def __init__(self, home: Path) -> None:
        self._file = home / "hints-shown.json"

    def note(self, hint: str, day: str) -> bool:
        """Record a hint as shown on this day. Returns False if it already was. If that cannot be
        saved, the hint is shown again.
        """
        try:
            shown = json.loads(self._file.read_text())
        except (OSError, ValueError):
            shown = {}
        if not isinstance(shown, dict) or shown.get("day") != day:
            shown = {"day": day, "hints": []}
        if hint in shown["hints"]:
            return False
        shown["hints"].append(hint)
        with suppress(OSError):
            self._file.write_text(json.dumps(shown))
        return True


# Vectors of fixed texts, so that a command need not embed them again.

_BYTES: Final = 4


class BackgroundFile:
    """Implements `BackgroundCache`: one file for each space and list of texts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, space: Space, texts: Sequence[str]) -> list[list[float]] | None:
        try:
            data = self._path(space, texts).read_bytes()
        except OSError:
            return None
        if len(data) != len(texts) * space.dimension * _BYTES:
            return None
        numbers = array("f", data).tolist()
        starts = range(0, len(numbers), space.dimension)
        return [numbers[start : start + space.dimension] for start in starts]

    def write(self, space: Space, texts: Sequence[str], vectors: Sequence[Sequence[float]]) -> None:
        path = self._path(space, texts)
        new = path.with_name(f".{path.name}.{os.getpid()}")
        data = b"".join(array("f", vector).tobytes() for vector in vectors)
        with suppress(OSError):  # a full or read-only disk
            self._folder.mkdir(mode=0o700, exist_ok=True)
            try:
                new.write_bytes(data)
                new.replace(path)
            finally:
                new.unlink(missing_ok=True)

    def _path(self, space: Space, texts: Sequence[str]) -> Path:
        digest = sha256("\n".join((space.name, *texts)).encode()).hexdigest()
        return self._folder / f"{digest[:32]}.f32"
