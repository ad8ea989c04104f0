"""What the Postgres programs said, made fit for an error message."""

from __future__ import annotations

import os
import re
from pathlib import Path

from recollect.adapters.postgres.embedded.errors import (
    OWN_SERVER,
    EmbeddedPostgresError,
    PlatformUnsupported,
    disk_full,
)

_TAIL_LINES = 12
_TAIL_BYTES = 16_384


def failure(
    kind: type[EmbeddedPostgresError], what: str, output: str, *, where: Path, remedy: str
) -> EmbeddedPostgresError:
    """The error for a program that failed; some causes have a better name and remedy than most."""
    if "No space left on device" in output or "Disk quota exceeded" in output:
        return disk_full(where)
    if "error while loading shared libraries" in output:
        kind = PlatformUnsupported
        remedy = (
            "Install the library named above with the system's package manager "
            f"(on Debian: libgssapi-krb5-2 liblz4-1 libzstd1 libssl3 libxml2), or {OWN_SERVER}."
        )
    lines = output.strip().splitlines()[-_TAIL_LINES:] or ["it said nothing"]
    return kind("\n  ".join([what, *lines]), remedy=remedy)


def newest_log(folder: Path) -> str:
    """The end of what the server of this log folder wrote last."""
    files = sorted(folder.glob("*.log"), key=lambda path: path.lstat().st_mtime)
    return "".join(_end_of(path) for path in files[-2:])


def crash_in(log: str) -> str | None:
    """The signal that ended a server process, as Postgres words it."""
    found = re.search(r"terminated by signal (\d+: .+)", log)
    return found.group(1) if found else None


def _end_of(path: Path) -> str:
    # The account could put a link here; root must not read through it.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        return file.read().decode("utf-8", errors="replace")
