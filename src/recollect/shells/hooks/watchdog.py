"""The hard time limit of every hook: at the end of its budget, the process exits with code 0.

Inner timeouts do not cover everything: a name that does not resolve, a file lock, a pipe that is
never closed. So a separate thread ends the process, whatever it is doing. It shares a lock with the
single write of the answer, so that the answer is printed completely or not at all.
"""

from __future__ import annotations

import _thread
import os
import time

from recollect.defaults import HOOK_BUDGET_MS, HOOK_START_MS

TYPE_CHECKING = False  # `typing` itself takes too long here
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NoReturn

# The share of a budget reserved for what a process cannot measure itself: starting, exiting, and
# its parent noticing. On a busy machine, each of these has to be scheduled.
_OVERHEAD_SHARE = 0.15
# The typical start time of the interpreter, if the kernel does not report it.
_DEFAULT_START_SECONDS = 0.03
_WRITE_SECONDS = 0.05


def read_budget_ms(hook: str, environ: Mapping[str, str]) -> float:
    """Return the budget of a hook. An invalid value is reported later; the limit needs one now."""
    is_recall = hook == "recall"
    name = "RECOLLECT_HOOK_BUDGET_MS" if is_recall else "RECOLLECT_HOOK_START_MS"
    try:
        return float(environ[name])
    except (KeyError, ValueError):
        return HOOK_BUDGET_MS if is_recall else HOOK_START_MS


class Watchdog:
    """Counts from its creation. When it ends the process, at the limit or before, `on_end` is
    called with the milliseconds it ran and what came of the hook, if its answer is out.
    """

    def __init__(self, budget_ms: float, on_end: Callable[[float, str | None], None]) -> None:
        self.started = time.monotonic() - process_age()
        self.budget = budget_ms / 1000
        seconds = self.budget * (1 - _OVERHEAD_SHARE)
        self.until = max(self.started + seconds, time.monotonic() + 0.001)
        self._outcome: str | None = None
        self._on_end = on_end
        self._answering = _thread.allocate_lock()
        self._never = _thread.allocate_lock()
        self._never.acquire()
        _thread.start_new_thread(self._wait, ())

    @property
    def ms(self) -> float:
        """The milliseconds since the process started."""
        return (time.monotonic() - self.started) * 1000

    @property
    def left(self) -> float:
        """The seconds until the limit."""
        return max(self.until - time.monotonic(), 0.001)

    def answer(self, text: str, outcome: str) -> None:
        """Print the complete answer, which comes to this outcome. If it is too late, or another
        thread has printed one and is about to end the process, wait for that here.
        """
        with self._answering:
            if self._outcome is not None:
                self._never.acquire()
            data = text.encode("utf-8", "replace")
            while data:
                data = data[os.write(1, data) :]
            self._outcome = outcome

    def end(self) -> NoReturn:
        """Log the outcome and end the process, wherever its other threads are."""
        try:
            self._on_end(self.ms, self._outcome)
        finally:
            os._exit(0)

    def _wait(self) -> None:
        self._never.acquire(timeout=max(self.until - time.monotonic(), 0.0))
        # Let an answer that is being written finish, unless no one reads it.
        self._answering.acquire(timeout=_WRITE_SECONDS)
        self.end()


def process_age() -> float:
    """Return how many seconds this process has run, including the start of the interpreter."""
    try:
        with open("/proc/self/stat", "rb") as stat:  # noqa: PTH123  # before anything is imported
            ticks = int(stat.read().rpartition(b")")[2].split()[19])
        began = ticks / os.sysconf("SC_CLK_TCK")
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - began
    except (OSError, ValueError, IndexError, AttributeError):
        return _DEFAULT_START_SECONDS
    return age if 0.0 <= age < 60.0 else _DEFAULT_START_SECONDS
