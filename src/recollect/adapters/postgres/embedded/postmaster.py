"""Which processes work on a data folder: the pid file, read with suspicion.

After a crash or a reboot the pid in `postmaster.pid` may be dead, or belong to another program.
Postgres itself refuses to start when that program runs under the same account, or when the dead
server is a zombie that a container's first process never collects; and a signal sent to a wrong pid
hits a stranger. So a process is recognised by its command line before it is believed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

# Larger than any pid a kernel hands out (Linux 4194304, macOS 99999), so it is never alive.
_NO_PROCESS = 2**31 - 2
_HAS_PROC = Path("/proc/self/stat").exists()  # Linux, not macOS
_POLL_SECONDS = 0.01


def find_postmaster(data: Path) -> int | None:
    """The pid of the live server of this data folder, or None."""
    pid = _read_pid(data)
    return pid if pid is not None and _serves(pid, data) else None


def is_alive(pid: int) -> bool:
    """Whether the process still runs; a zombie does not."""
    return _command_line(pid) is not None


def disown_stale_pid(data: Path, socket: Path) -> None:
    """Make Postgres see that the process named in its lock files is not its predecessor.

    The socket's lock guards nothing once no server has the data, and goes. In the pid file of the
    data folder only the pid is replaced: the shared memory id further down lets Postgres make sure
    that no orphaned backend of the dead server still writes, and deleting the file would hide that.
    """
    if find_postmaster(data) is not None:
        return
    socket.with_name(f"{socket.name}.lock").unlink(missing_ok=True)
    if _read_pid(data) is None:
        return
    fd = os.open(data / "postmaster.pid", os.O_RDWR | os.O_NOFOLLOW)
    with os.fdopen(fd, "r+") as file:
        lines = file.read().splitlines(keepends=True)
        file.seek(0)
        file.write("".join([f"{_NO_PROCESS}\n", *lines[1:]]))
        file.truncate()


def end_leftovers(folder: Path, timeout: float) -> bool:
    """End whatever a killed process of ours left at work in `folder`; True when all is quiet.

    These are programs that lie in the folder, or that were given a data folder in it.
    """
    marks = (f" -D {folder}/", f" -D {folder} ")
    pids = [
        pid
        for pid in _all_pids()
        if (command := _command_line(pid)) is not None
        and (command.startswith(f"{folder}/") or any(mark in command for mark in marks))
    ]
    still_there = [pid for pid in pids if not signal_and_wait(pid, signal.SIGQUIT, timeout)]
    return not still_there


def signal_and_wait(pid: int, how: signal.Signals, timeout: float) -> bool:
    """Send the signal; whether the process is gone within `timeout` seconds."""
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        return True
    return any(not is_alive(pid) for _ in until(timeout))


def until(timeout: float) -> Iterator[None]:
    """Steps of a wait: now, and then every few milliseconds until the time is up."""
    deadline = time.monotonic() + timeout
    yield
    while time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        yield


def _read_pid(data: Path) -> int | None:
    try:
        fd = os.open(data / "postmaster.pid", os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    with os.fdopen(fd) as file:
        first = file.readline().strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None


def _serves(pid: int, data: Path) -> bool:
    command = _command_line(pid)
    # Options always follow the folder, so that `data` does not match `data2`.
    return command is not None and f"postgres -D {data} -" in command


def _all_pids() -> list[int]:
    if _HAS_PROC:
        return [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [int(word) for word in _ps("-ax", "-o", "pid=").split()]


def _command_line(pid: int) -> str | None:
    """The command line of a live process; None when there is none, or only a zombie."""
    if _HAS_PROC:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            raw = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if state in "ZX" else os.fsdecode(raw.replace(b"\0", b" "))
    shown = _ps("-p", str(pid), "-o", "stat=,command=")
    state, _, command = shown.partition(" ")
    return None if not shown or state.startswith("Z") else command.strip()


def _ps(*options: str) -> str:
    return subprocess.run(  # noqa: S603 (no shell)
        ["/bin/ps", "-ww", *options], check=False, capture_output=True, text=True
    ).stdout.strip()
