"""A home that is gone when a measurement ends, however it ends.

What runs for minutes is often ended by hand or by a time limit. Then no Postgres may be left
running, nor a folder of gigabytes lying about.
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

_ALSO_END: Final = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def temporary_home() -> Iterator[Path]:
    """An empty folder for Recollect's data, removed at the end.

    Inside, SIGTERM and SIGHUP do what Ctrl-C does: `asyncio.run` cancels its task, so that every
    context closes, and KeyboardInterrupt comes out.
    """
    from recollect.adapters.postgres.embedded import EmbeddedPostgres

    with signals_interrupt(), tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        home = Path(folder)
        # As root, Postgres runs as another account, which must be able to pass through.
        home.chmod(0o711)
        try:
            yield home
        finally:
            # It lies elsewhere when that account cannot come here.
            shutil.rmtree(EmbeddedPostgres(home).folder)


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Inside, SIGTERM and SIGHUP do what Ctrl-C does."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        for number in _ALSO_END:
            signal.signal(number, signal.SIG_IGN)  # the first one is being obeyed
        signal.raise_signal(signal.SIGINT)

    # A shell's background job ignores SIGINT, and asyncio.run obeys only Python's own handler.
    before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler)}
    for number in _ALSO_END:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            before[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
