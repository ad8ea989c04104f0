"""The wall behind every hook: at the end of its budget the process ends, with exit code 0.

Limits of time inside do not hold for everything: a name that does not resolve, a lock on a file, a
pipe that is never closed. So a thread waits beside the work and ends the process however far it is.
It shares a lock with the one write of the answer: what was printed is whole, or nothing.
"""

from __future__ import annotations

import _thread
import os
import time

TYPE_CHECKING = False  # `typing` itself takes too long here
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# What a prompt may wait for, and what may be waited for when there is none.
BUDGET_MS = 300
START_MS = 2_000
# The share of a budget that is kept for what no process can see of itself: being started, ending,
# and its parent hearing of it. On a busy machine each waits for its turn.
_TO_BEGIN_AND_END = 0.2
# Where the kernel does not tell: what a start of the interpreter takes.
_USUAL_START = 0.03
_ANSWERING = 0.05


def wanted_ms(hook: str, environ: Mapping[str, str]) -> float:
    """The budget of a hook. One that cannot be read is told of later; the wall needs a number."""
    is_recall = hook == "recall"
    name = "RECOLLECT_HOOK_BUDGET_MS" if is_recall else "RECOLLECT_HOOK_START_MS"
    try:
        return float(environ[name])
    except (KeyError, ValueError):
        return BUDGET_MS if is_recall else START_MS


class Wall:
    """Stands from its making on. `tell` is told, once, when the process ends at the wall."""

    def __init__(self, budget_ms: float, tell: Callable[[float], None]) -> None:
        self.started = time.monotonic() - process_age()
        seconds = budget_ms / 1000 * (1 - _TO_BEGIN_AND_END)
        self.until = max(self.started + seconds, time.monotonic() + 0.001)
        self._tell = tell
        self._answering = _thread.allocate_lock()
        self._never = _thread.allocate_lock()
        self._never.acquire()
        _thread.start_new_thread(self._wait, ())

    @property
    def ms(self) -> float:
        """Since the process began."""
        return (time.monotonic() - self.started) * 1000

    def answer(self, text: str) -> bool:
        """Print the whole answer; False when it is too late for one."""
        if not self._answering.acquire(blocking=False):
            return False
        try:
            data = text.encode("utf-8", "replace")
            while data:
                data = data[os.write(1, data) :]
        finally:
            self._answering.release()
        return True

    def _wait(self) -> None:
        self._never.acquire(timeout=max(self.until - time.monotonic(), 0.0))
        # An answer that is being written gets out, unless nobody reads it.
        self._answering.acquire(timeout=_ANSWERING)
        try:
            self._tell(self.ms)
        finally:
            os._exit(0)


def process_age() -> float:
    """How long this process has run, in seconds: the start of the interpreter counts, too."""
    try:
        with open("/proc/self/stat", "rb") as stat:  # noqa: PTH123  # before anything is imported
            ticks = int(stat.read().rpartition(b")")[2].split()[19])
        began = ticks / os.sysconf("SC_CLK_TCK")
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - began
    except (OSError, ValueError, IndexError, AttributeError):
        return _USUAL_START
    return age if 0.0 <= age < 60.0 else _USUAL_START
