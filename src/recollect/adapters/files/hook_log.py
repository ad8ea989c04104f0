"""The hooks' own log: one line per call, never a text of a memory or a prompt.

It imports almost nothing: a hook's time limit is set up before anything else is imported, and must
be able to log that it was exceeded.
"""

from __future__ import annotations

import os
import time

MAX_BYTES = 200_000
_MAX_OUTCOME = 300


class HookLog:
    """The log in the hooks' folder."""

    def __init__(self, folder: str) -> None:
        self._path = f"{folder}/hooks.log"

    def write(self, hook: str, outcome: str, ms: float) -> None:
        """Write one line. A log that cannot be written must not stop a hook."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = f"{stamp} {hook} {' '.join(outcome.split())[:_MAX_OUTCOME]} {ms:.0f}ms\n"
        try:
            append(self._path, line.encode("ascii", "backslashreplace"))
            if os.stat(self._path).st_size > MAX_BYTES:  # noqa: PTH116  # pathlib takes too long here
                os.replace(self._path, f"{self._path}.1")  # noqa: PTH105  # as above
        except OSError:
            return

    def last_lines(self, count: int) -> list[str]:
        try:
            with open(self._path, "rb") as log:  # noqa: PTH123  # as above
                return log.read().decode("ascii", "replace").splitlines()[-count:]
        except OSError:
            return []


def append(path: str, data: bytes) -> None:
    """Append with a single write, which the kernel does not split. Only the user has access."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        _make_private_folders(os.path.dirname(path))  # noqa: PTH120  # as above
        descriptor = os.open(path, flags, 0o600)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def _make_private_folders(folder: str) -> None:
    """Create every missing folder on the way, accessible to its owner only: `makedirs` would leave
    the parents, including the home, open to others.
    """
    if not os.path.isdir(folder):  # noqa: PTH112  # as above
        _make_private_folders(os.path.dirname(folder))  # noqa: PTH120  # as above
        try:
            os.mkdir(folder, 0o700)  # noqa: PTH102  # as above
        except FileExistsError:  # two hooks at once
            return
