"""When to retry a hosted API call, and when to stop: arithmetic without I/O.

A query waits inside a recall's deadline, so it gets one quick retry. The text of a memory is sent
once: while it waited here for a retry, it could become sensitive. The worker retries documents
instead: it releases what it claimed, backs off, and reads it again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

from recollect.core.backoff import backoff_seconds


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Limits for one call: per request, for their number, and for all including waits."""

    request_seconds: float
    attempts: int
    total_seconds: float
    first_wait: float
    longest_wait: float


# Of a recall's default deadline of 2 s its legs have 1.6 s, and a leg that is late cannot say why.
# A hosted query embedding usually takes 0.1 to 0.4 s.
QUERY_RETRIES: Final = RetryPolicy(
    request_seconds=1.2, attempts=2, total_seconds=1.2, first_wait=0.1, longest_wait=0.5
)
DOCUMENT_RETRIES: Final = RetryPolicy(
    request_seconds=20.0, attempts=1, total_seconds=20.0, first_wait=0.0, longest_wait=0.0
)
# A service that asks for a longer wait is asked once an hour whether it still means it.
MAX_RETRY_AFTER: Final = 3_600.0


@dataclass(slots=True)
class RetryAfter:
    """Until when an account asked for no requests: shared by everything sent in its name."""

    until: float = -math.inf

    def keep(self, seconds: float, now: float) -> None:
        self.until = max(self.until, now + min(seconds, MAX_RETRY_AFTER))

    def left(self, now: float) -> float:
        return max(0.0, self.until - now)


def worth_retrying(status: int) -> bool:
    """Too many requests, a timeout or a server error may pass; anything else will not."""
    return status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.REQUEST_TIMEOUT) or status >= 500


def wait_before(retry: int, retries: RetryPolicy, jitter: float, asked: float | None) -> float:
    """Seconds before retry number `retry` (from 1): doubling, with `jitter` (0..1) over the upper
    half so that many clients do not return at once; never less than requested.
    """
    backoff = backoff_seconds(retry, retries.first_wait, retries.longest_wait, jitter)
    return max(backoff, asked or 0.0)


def parse_retry_after(header: str | None, now: datetime) -> float | None:
    """A Retry-After header in seconds: a number or a date, None if it is neither."""
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
