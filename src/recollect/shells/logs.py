"""What a process that runs for long writes to stderr: one line a fact, as key=value.

No line holds a key or the text of a memory.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import Final

import structlog

from recollect.core.privacy.redaction import locations, safe_message
from recollect.usecases.graph.extract import Compared, Extracted, GraphTrouble, TellGraph
from recollect.usecases.workers.embed import Embedded, Tell, Trouble

log = structlog.get_logger("recollect")

# A line for each batch would be thousands for a large backfill.
_LINE_SECONDS: Final = 10.0


def log_to_stderr() -> None:
    """Write beside and never among what the command itself prints."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
        ],
        # Looked up for each line: while a bar is shown, stderr is what writes above it.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
    root = logging.getLogger()
    if not any(isinstance(handler, _OtherLoggers) for handler in root.handlers):
        root.addHandler(_OtherLoggers(logging.WARNING))


class _OtherLoggers(logging.Handler):
    """What the libraries log, in the same form: one line, and of an error its kind and places. Its
    text, as their tracebacks have it, may quote a memory or a query.
    """

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.args, tuple):
            record.args = tuple(
                safe_message(one) if isinstance(one, BaseException) else one for one in record.args
            )
        event, _, _ = record.getMessage().strip().partition("\n")
        facts: dict[str, object] = {"logger": record.name}
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            facts |= {"kind": safe_message(error), "at": locations(error)}
        tell = log.error if record.levelno >= logging.ERROR else log.warning
        tell(event, **facts)


def log_steps() -> Callable[[str, float], None]:
    """Tell of a model's making: each step when it begins, and each quarter of it."""
    told: tuple[str, int] | None = None

    def step(text: str, share: float) -> None:
        nonlocal told
        if told != (text, int(share * 4)):
            told = (text, int(share * 4))
            log.info("model", step=text, percent=round(share * 100))

    return step


def log_embedding(now: Callable[[], float] = time.monotonic) -> Tell:
    """Tell of batches, at most every few seconds, and of every trouble."""
    kept = failed = 0
    told_at = -_LINE_SECONDS

    def tell(note: Embedded | Trouble) -> None:
        nonlocal kept, failed, told_at
        if isinstance(note, Trouble):
            space = "none" if note.space is None else note.space.space.name
            log.warning(
                "worker waits", space=space, reason=str(note.error), seconds=round(note.seconds)
            )
            return
        kept, failed = kept + note.kept, failed + len(note.failed)
        if now() - told_at >= _LINE_SECONDS:
            log.info("embedded", space=note.space.space.name, memories=kept, failed=failed)
            kept, failed, told_at = 0, 0, now()

    return tell


def log_graph(now: Callable[[], float] = time.monotonic) -> TellGraph:
    """The same for the worker of the concept graph."""
    counts = dict.fromkeys(("memories", "failed", "names", "merged"), 0)
    told_at = -_LINE_SECONDS

    def tell(note: Extracted | Compared | GraphTrouble) -> None:
        nonlocal told_at
        if isinstance(note, GraphTrouble):
            seconds = round(note.seconds)
            log.warning("graph waits", of=note.what, reason=str(note.error), seconds=seconds)
            return
        if isinstance(note, Extracted):
            counts["memories"] += note.kept
            counts["failed"] += len(note.failed)
        else:
            counts["names"] += note.names
            counts["merged"] += note.merged
        if now() - told_at >= _LINE_SECONDS:
            log.info("read for the graph", **counts)
            counts.update(dict.fromkeys(counts, 0))
            told_at = now()

    return tell
