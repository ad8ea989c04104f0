"""What commands leave in the home for the page: when a backup was made, and a benchmark's report.

Both are small and can be lost: the page then says that there is none.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from recollect.core.admin.backup import Kind
from recollect.core.admin.machine import LastBackup, OwnBenchmark, read_own_benchmark


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
    """Remember the last backup. Failing to is no reason to call the backup failed."""
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
