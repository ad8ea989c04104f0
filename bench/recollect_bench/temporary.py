"""A temporary home that is removed when a measurement ends, however it ends.

A measurement of minutes is often interrupted by hand or by a time limit. That must not leave a
Postgres running, or gigabytes of files behind.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

_END_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def temporary_home() -> Iterator[Path]:
    """Create an empty folder for Recollect's data; remove it at the end.

    Inside the block, SIGTERM and SIGHUP act like Ctrl-C: `asyncio.run` cancels its task, so that
    every context closes, and KeyboardInterrupt is raised.
    """
    from recollect.adapters.postgres.embedded import EmbeddedPostgres

    with signals_interrupt(), tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        home = Path(folder)
        # As root, Postgres runs as another account, which needs to traverse this folder.
        home.chmod(0o711)
        try:
            yield home
        finally:
            # The data folder is elsewhere if that account has no access to this one.
            shutil.rmtree(EmbeddedPostgres(home).folder)


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Make SIGTERM and SIGHUP act like Ctrl-C inside the block."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        for number in _END_SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # the first signal is being handled
        signal.raise_signal(signal.SIGINT)

    # A shell's background job ignores SIGINT, and asyncio.run replaces only Python's own handler.
    before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler)}
    for number in _END_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            before[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
