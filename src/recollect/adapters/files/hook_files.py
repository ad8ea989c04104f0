"""What hooks store between calls: a few lines per session, and a count per day.

Every hook is a separate process, and two may run at once. So files are only appended to, with
single writes that the kernel does not interleave, and are replaced in one step when they grow too
long. No file ever contains the text of a memory or of a prompt.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import UUID

from recollect.adapters.files.hook_log import append

if TYPE_CHECKING:
    from datetime import date

    from recollect.adapters.files.handled_statements import HandledStatements

MAX_SESSION_BYTES: Final = 500_000
# A session untouched for this long is over.
SESSION_SECONDS: Final = 30 * 86_400


@dataclass(frozen=True, slots=True)
class SessionState:
    """What the hooks of one session have done: ids `injected` since the context was last emptied,
    ids `lost` when it was, ids `captured` in total, how many bytes of the transcript were `read`,
    and whether the latest capture still `is_at_work`.
    """

    injected: frozenset[UUID] = frozenset()
    lost: frozenset[UUID] = frozenset()
    captured: frozenset[UUID] = frozenset()
    read: int = 0
    is_at_work: bool = False


class SessionFile:
    """The state of one session, whose name may be any text. Nothing is stored for a session without
    a name: the next call may be from another.
    """

    def __init__(self, folder: Path, session: str | None) -> None:
        self._path: Path | None = None
        if session is not None:
            self._path = folder / "sessions" / f"{_file_name(session)}.jsonl"

    def state(self) -> SessionState:
        injected: set[UUID] = set()
        lost: set[UUID] = set()
        captured: set[UUID] = set()
        read = 0
        begun: object = None
        ended: set[object] = {None}
        for entry in self._entries():
            if entry.get("emptied"):
                injected, lost = set(), injected
            injected.update(_ids(entry.get("injected")))
            captured.update(_ids(entry.get("captured")))
            value = entry.get("read")
            read = value if isinstance(value, int) and value >= 0 else read
            begun = str(entry["begun"]) if "begun" in entry else begun
            ended.add(str(entry.get("ended")))
        return SessionState(
            frozenset(injected), frozenset(lost), frozenset(captured), read, begun not in ended
        )

    def note_injected(self, ids: tuple[UUID, ...]) -> None:
        self._note({"injected": [str(id) for id in ids]})

    def note_captured(self, ids: tuple[UUID, ...], read: int) -> None:
        self._note({"captured": [str(id) for id in ids], "read": read})

    def note_begun(self, work: str) -> None:
        """Note that a capture was started; `work` is any name for it."""
        self._note({"begun": work})

    def note_ended(self, work: str) -> None:
        self._note({"ended": work})

    def note_emptied(self) -> None:
        """Note that the agent's context was emptied: memories may be injected again."""
        self._note({"emptied": True})

    def _note(self, entry: dict[str, object]) -> None:
        if self._path is None:
            return
        append(str(self._path), json.dumps(entry).encode("ascii") + b"\n")
        if self._path.stat().st_size > MAX_SESSION_BYTES:
            self._path.unlink(missing_ok=True)  # at worst, a memory is injected again

    def _entries(self) -> Iterator[dict[str, object]]:
        if self._path is None:
            return
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            with suppress(ValueError):  # a half-written line after a full disk
                entry = json.loads(line)
                if isinstance(entry, dict):
                    yield entry


class DailyCount:
    """How many memories were captured today, in UTC: one byte each."""

    def __init__(self, folder: Path, day: str) -> None:
        self._path = folder / "captured" / day

    def used(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    def add(self, count: int) -> None:
        if count:
            append(str(self._path), b"." * count)
        with suppress(OSError):  # counts of other days are no longer needed
            for other in self._path.parent.iterdir():
                if other.name < self._path.name:
                    other.unlink(missing_ok=True)


class HookFiles:
    """Everything that the hooks of one home store."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def session(self, name: str | None) -> SessionFile:
        return SessionFile(self._folder, name)

    def handled_statements(self) -> HandledStatements:
        from recollect.adapters.files.handled_statements import HandledStatements

        return HandledStatements(self._folder / "handled")

    def daily_count(self, day: date) -> DailyCount:
        return DailyCount(self._folder, day.isoformat())

    def forget_old_sessions(self) -> None:
        limit = time.time() - SESSION_SECONDS
        with suppress(OSError):
            for file in (self._folder / "sessions").iterdir():
                if file.stat().st_mtime < limit:
                    file.unlink(missing_ok=True)

    @contextmanager
    def lock_captures(self) -> Iterator[None]:
        """Wait for the lock of captures; the kernel releases it when a process dies."""
        import fcntl

        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._folder / "capture.lock", flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _file_name(session: str) -> str:
    """Return a file name. Sessions are usually UUIDs; other names are hashed (one more import)."""
    with suppress(ValueError):
        return str(UUID(session))
    import hashlib

    return hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()[:32]


def _ids(value: object) -> set[UUID]:
    found: set[UUID] = set()
    for text in value if isinstance(value, list) else ():
        with suppress(ValueError):
            found.add(UUID(str(text)))
    return found
