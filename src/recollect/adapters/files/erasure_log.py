"""A log of erasures and revocations, stored next to the database: a restored backup does not know
what happened after it was made, and would bring back erased memories and revoked keys.

One JSON object per line; the first identifies the log. A line contains ids and an owner, no text.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID, uuid4

from recollect.adapters.files.new_files import place


@dataclass(frozen=True, slots=True)
class Erasure:
    """A memory that was erased."""

    id: UUID
    owner: str


@dataclass(frozen=True, slots=True)
class Revocation:
    """A revoked key, and from when: a rotation revokes the old key at a time in the future."""

    id: UUID
    at: datetime


Entry = Erasure | Revocation


@dataclass(frozen=True, slots=True)
class ErasureLogs:
    """A folder with one log per server, named by the server's id, which a restore preserves."""

    folder: Path

    def open(self, server: UUID) -> ErasureLog:
        """Return the log of a server, created if it does not exist."""
        path = self.folder / f"{server}.log"
        if not path.exists():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with TemporaryDirectory(prefix=f".{path.name}-", dir=self.folder) as aside:
                new = Path(aside) / path.name
                _append(new, json.dumps({"log": str(uuid4())}) + "\n")
                place(new, path)
        with path.open() as file:
            return ErasureLog(UUID(json.loads(file.readline())["log"]), path)

    def copy_to(self, server: str, folder: Path) -> None:
        """Copy the log of a server, if there is one, to a backup."""
        path = self.folder / f"{server}.log"
        if path.exists():
            folder.mkdir(mode=0o700)
            shutil.copyfile(path, folder / path.name)

    def merge(self, server: str, folder: Path) -> bool:
        """Add the entries of a server's log in a backup that the log here lacks. Returns whether
        there was a log here, which may know more than the backup.
        """
        path, old = self.folder / f"{server}.log", folder / f"{server}.log"
        is_known = path.exists()
        if old.exists() and not is_known:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with TemporaryDirectory(prefix=f".{path.name}-", dir=self.folder) as aside:
                new = Path(aside) / path.name
                shutil.copyfile(old, new)
                new.chmod(0o600)
                place(new, path)
        elif old.exists():
            log = self.open(UUID(server))
            known = frozenset(log.read(0)[0])
            entries, _ = ErasureLogs(folder).open(UUID(server)).read(0)
            if missing := [entry for entry in entries if entry not in known]:
                log.append(missing)
        return is_known


@dataclass(frozen=True, slots=True)
class ErasureLog:
    """An append-only file. Several processes may append: each append is a single write."""

    id: UUID
    path: Path

    def append(self, entries: Iterable[Entry]) -> tuple[int, int]:
        """Write the entries to disk. Returns where they start and end."""
        return _append(self.path, "".join(json.dumps(_fields(entry)) + "\n" for entry in entries))

    def read(self, after: int) -> tuple[Sequence[Entry], int]:
        """Return the entries after a position, and where they end."""
        with self.path.open("rb") as file:
            file.seek(after)
            data = file.read()
        found = [entry for line in data.splitlines() if (entry := _entry(line)) is not None]
        return found, after + len(data)


def _append(path: Path, lines: str) -> tuple[int, int]:
    """Append lines. A full disk may cut off the last one; the next append starts a new line."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        start = os.fstat(descriptor).st_size
        is_cut_off = start > 0 and os.pread(descriptor, 1, start - 1) != b"\n"
        data = (b"\n" if is_cut_off else b"") + lines.encode()
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
        end = os.lseek(descriptor, 0, os.SEEK_CUR)
        return end - len(data), end
    finally:
        os.close(descriptor)


def _fields(entry: Entry) -> dict[str, str]:
    if isinstance(entry, Revocation):
        return {"revoked": str(entry.id), "at": entry.at.isoformat()}
    return {"erased": str(entry.id), "owner": entry.owner}


def _entry(line: bytes) -> Entry | None:
    """Parse a line; None for the first line, and for one that a crash cut off."""
    with suppress(ValueError, KeyError):
        fields = json.loads(line)
        if "revoked" in fields:
            return Revocation(UUID(fields["revoked"]), datetime.fromisoformat(fields["at"]))
        return Erasure(UUID(fields["erased"]), fields["owner"])
    return None
