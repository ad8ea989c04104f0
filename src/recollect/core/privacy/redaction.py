"""What may be reported of an unexpected error: its type and location, never its text.

The text of a driver's or a parser's error quotes what it was working on, which may be a memory, a
query or a key. Logs and tracebacks are copied into reports, so they contain only our own words.
"""

from __future__ import annotations

from collections.abc import Iterator
from traceback import extract_tb

from recollect.core.errors import RecollectError

_MAX_LOCATIONS = 5


def safe_message(error: BaseException) -> str:
    """Return the text of our own errors and of the system's fixed messages, and only the type of
    others.
    """
    if isinstance(error, RecollectError):
        return str(error)
    reason = error.strerror if isinstance(error, OSError) and error.errno else None
    return f"{type(error).__name__} ({reason})" if reason else type(error).__name__


def locations(error: BaseException) -> list[str]:
    """Return where it happened, innermost last."""
    frames = extract_tb(error.__traceback__)[-_MAX_LOCATIONS:]
    return [f"{frame.filename}:{frame.lineno}" for frame in frames]


def safe_traceback(error: BaseException) -> str:
    """Format the full traceback with its causes, as Python does, without foreign texts."""
    return "".join(_format_trace(error))


def _format_trace(error: BaseException) -> Iterator[str]:
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if earlier is not None:
        yield from _format_trace(earlier)
        yield "\nThen:\n\n"
    yield "Traceback (most recent call last):\n"
    yield from extract_tb(error.__traceback__).format()
    message = f": {error}" if isinstance(error, RecollectError) else ""
    yield f"{type(error).__qualname__}{message}\n"
    for inner in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        yield from _format_trace(inner)
