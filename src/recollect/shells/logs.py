"""Logging of long-running processes to stderr: one line per event, as key=value.

No line contains a key or the text of a memory.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import Final

import structlog

from recollect.core.privacy.redaction import locations, safe_message
from recollect.usecases.curation.propose import Examined
from recollect.usecases.graph.extract import Compared, Extracted
from recollect.usecases.workers.backoff import BackoffEvent
from recollect.usecases.workers.embed import Embedded, OnEmbedding
from recollect.usecases.workers.steps import OnGraph

log = structlog.get_logger("recollect")

# One line per batch would be thousands for a large backfill.
_LINE_SECONDS: Final = 10.0


def log_to_stderr() -> None:
    """Log to stderr: stdout is for what the command itself prints."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
        ],
        # Looked up for each line: while a progress bar is shown, stderr writes above it.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
    root = logging.getLogger()
    if not any(isinstance(handler, _OtherLoggers) for handler in root.handlers):
        root.addHandler(_OtherLoggers(logging.INFO))
    logging.getLogger("recollect").setLevel(logging.INFO)


class _OtherLoggers(logging.Handler):
    """Logs the records of libraries in the same format: one line, and only the type and locations
    of an error, since error texts and tracebacks may quote a memory or a query.
    """

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.args, tuple):
            record.args = tuple(
                safe_message(value) if isinstance(value, BaseException) else value
                for value in record.args
            )
        event, _, _ = record.getMessage().strip().partition("\n")
        facts: dict[str, object] = {"logger": record.name}
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            facts |= {"kind": safe_message(error), "at": locations(error)}
        log.log(record.levelno, event, **facts)


def log_steps() -> Callable[[str, float], None]:
    """Return a callback that logs each step of building a model, and each quarter of a step."""
    last: tuple[str, int] | None = None

    def step(text: str, share: float) -> None:
        nonlocal last
        if last != (text, int(share * 4)):
            last = (text, int(share * 4))
            log.info("model", step=text, percent=round(share * 100))

    return step


def log_embedding(now: Callable[[], float] = time.monotonic) -> OnEmbedding:
    """Return a callback that logs batches, at most every few seconds, and every error."""
    kept = failed = 0
    logged_at = -_LINE_SECONDS

    def on_event(event: Embedded | BackoffEvent) -> None:
        nonlocal kept, failed, logged_at
        if isinstance(event, BackoffEvent):
            log.warning(
                "embedding backs off",
                of=event.of,
                reason=str(event.error),
                seconds=round(event.seconds),
            )
            return
        kept, failed = kept + event.kept, failed + len(event.failed)
        if now() - logged_at >= _LINE_SECONDS:
            log.info("embedded", space=event.space.space.name, memories=kept, failed=failed)
            kept, failed, logged_at = 0, 0, now()

    return on_event


def log_analysis(event: int | BackoffEvent) -> None:
    """Log each batch of memories that were analyzed again, or why that failed."""
    if isinstance(event, BackoffEvent):
        seconds = round(event.seconds)
        log.warning("analysis backs off", reason=str(event.error), seconds=seconds)
    else:
        log.info("analyzed again", memories=event)


def log_curation(event: Examined | BackoffEvent) -> None:
    """Log each batch that led to proposals or to calls of the language model."""
    if isinstance(event, BackoffEvent):
        log.warning(
            "curation backs off",
            of=event.of,
            reason=str(event.error),
            seconds=round(event.seconds),
        )
    elif event.proposed or event.asked:
        log.info(
            "curated",
            memories=event.memories,
            proposed=event.proposed,
            applied=event.applied,
            asked=event.asked,
            dropped=event.dropped,
        )


def log_graph(now: Callable[[], float] = time.monotonic) -> OnGraph:
    """Return a callback that logs extraction for the concept graph, at most every few seconds."""
    counts = dict.fromkeys(("memories", "failed", "names", "merged"), 0)
    logged_at = -_LINE_SECONDS

    def on_event(event: Extracted | Compared | BackoffEvent) -> None:
        nonlocal logged_at
        if isinstance(event, BackoffEvent):
            log.warning(
                "graph backs off",
                of=event.of,
                reason=str(event.error),
                seconds=round(event.seconds),
            )
            return
        if isinstance(event, Extracted):
            counts["memories"] += event.kept
            counts["failed"] += len(event.failed)
        else:
            counts["names"] += event.names
            counts["merged"] += event.merged
        if now() - logged_at >= _LINE_SECONDS:
            log.info("read for the graph", **counts)
            counts.update(dict.fromkeys(counts, 0))
            logged_at = now()

    return on_event
