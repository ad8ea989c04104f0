"""When to ask a hosted API again, and when to stop: arithmetic without I/O.

A query waits inside a recall's deadline, so it gets one quick second chance; documents are embedded
in the background, where patience costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final


@dataclass(frozen=True, slots=True)
class Patience:
    """Bounds for one batch: of each request, of their number, and of all with their waits."""

    request_seconds: float
    attempts: int
    total_seconds: float
    first_wait: float
    longest_wait: float


# A recall's default deadline is 2 s; a hosted query embedding usually takes 0.1 to 0.4 s.
QUERY_PATIENCE: Final = Patience(
    request_seconds=1.0, attempts=2, total_seconds=1.8, first_wait=0.1, longest_wait=0.5
)
DOCUMENT_PATIENCE: Final = Patience(
    request_seconds=30.0, attempts=6, total_seconds=180.0, first_wait=0.5, longest_wait=30.0
)


def worth_retrying(status: int) -> bool:
    """Too many requests, a time-out or a fault of the server may pass; anything else will not."""
    return status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.REQUEST_TIMEOUT) or status >= 500


def wait_before(retry: int, patience: Patience, jitter: float, asked: float | None) -> float:
    """Seconds before retry number `retry` (from 1): doubling, scattered by `jitter` (0..1) over
    its upper half so that many clients do not return at once; never less than was asked for.
    """
    backoff = min(patience.longest_wait, patience.first_wait * 2.0 ** (retry - 1))
    return max(backoff * (0.5 + 0.5 * jitter), asked or 0.0)


def retry_after(header: str | None, now: datetime) -> float | None:
    """A Retry-After header in seconds: a number or a date, None when it is neither."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        return _seconds_until(header, now)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _seconds_until(date: str, now: datetime) -> float | None:
    try:
        then = parsedate_to_datetime(date)
    except ValueError:
        return None
    # A date whose zone is "-0000" is parsed without one, and means UTC.
    return max(0.0, (then.replace(tzinfo=then.tzinfo or UTC) - now).total_seconds())
