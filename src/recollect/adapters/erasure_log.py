"""What was erased and revoked, kept beside the database: a backup that is restored knows nothing of
what happened after it was made, and would bring erased memories and revoked keys back.

One JSON object a line, the first of which names the log. A line holds ids and an owner, no text.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID, uuid4


@dataclass(frozen=True, slots=True)
class Erasure:
    """A memory that was erased."""

    id: UUID
    owner: str


@dataclass(frozen=True, slots=True)
class Revocation:
    """A key that was revoked."""

    id: UUID


Entry = Erasure | Revocation


class ErasureLog:
    """An append-only file for each server, by its id, which a restored database still has. Several
    processes may append: all that is appended at once is one write.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, server: UUID) -> UUID:
        """The id of the log, which is made if it is not there."""
        self._path = self._folder / f"{server}.log"
        if not self._path.exists():
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with TemporaryDirectory(prefix=f".{self._path.name}-", dir=self._path.parent) as aside:
                new = Path(aside) / self._path.name
                _append(new, json.dumps({"log": str(uuid4())}) + "\n")
                with suppress(FileExistsError):  # another process was faster
                    os.link(new, self._path)
        with self._path.open() as file:
            return UUID(json.loads(file.readline())["log"])

    def append(self, entries: Iterable[Entry]) -> int:
        """Where the log ends now; the entries are on the disk."""
        return _append(self._path, "".join(json.dumps(_fields(one)) + "\n" for one in entries))

    def read(self, after: int) -> tuple[Sequence[Entry], int]:
        """The entries behind a place, and where they end."""
        with self._path.open("rb") as file:
            file.seek(after)
            data = file.read()
        found = [entry for line in data.splitlines() if (entry := _entry(line)) is not None]
        return found, after + len(data)


def _append(path: Path, lines: str) -> int:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, lines.encode())
        os.fsync(descriptor)
        return os.lseek(descriptor, 0, os.SEEK_CUR)
    finally:
        os.close(descriptor)


def _fields(entry: Entry) -> dict[str, str]:
    if isinstance(entry, Revocation):
        return {"revoked": str(entry.id)}
    return {"erased": str(entry.id), "owner": entry.owner}


def _entry(line: bytes) -> Entry | None:
    """Nothing for the first line, and for one that a crash cut off."""
    with suppress(ValueError, KeyError):
        fields = json.loads(line)
        if "revoked" in fields:
            return Revocation(UUID(fields["revoked"]))
        return Erasure(UUID(fields["erased"]), fields["owner"])
    return None
