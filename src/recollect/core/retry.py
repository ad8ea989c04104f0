"""When Recollect retries, how often, and how long it waits: every policy in one place.

A read whose connection to Postgres broke is repeated once, at once (`adapters/postgres/pool.py`).
The text of a memory is sent to a model once: while it waited for a retry, it could become
sensitive. The worker retries instead: it releases what it claimed, backs off, and reads it again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

# Far beyond any maximum, and far from overflowing.
_MAX_STEPS: Final = 30


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds to wait: `first` after one failure, `growth` times as long after each further one, up
    to `longest`.
    """

    first: float
    longest: float
    growth: float = 2.0

    def wait(self, failures: int, jitter: float = 1.0) -> float:
        """Return the seconds to wait. A random `jitter` of 0 to 1 spreads clients over the second
        half, so that they do not all return at once; 1 waits the full time.
        """
        steps = min(max(failures - 1, 0), _MAX_STEPS)
        return min(self.first * self.growth**steps, self.longest) * (0.5 + 0.5 * jitter)


# A Postgres that starts refuses connections at first.
CONNECT_BACKOFF: Final = Backoff(0.05, 0.4)
# A migration whose table is in use: about two minutes with the attempts.
MIGRATION_BACKOFF: Final = Backoff(1.0, 8.0)
MAX_MIGRATION_WAITS: Final = 10
# A client of an overloaded server.
SERVER_BACKOFF: Final = Backoff(1.0, 10.0)
MAX_SERVER_ATTEMPTS: Final = 5
# Sync. It never waits longer than until the next pull.
SYNC_FIRST_WAIT: Final = 1.0
# How soon to try again when another process of this store runs the engine, or it failed.
SYNC_RESTART_SECONDS: Final = 1.0
# After a bug in a worker.
WORKER_RESTART_SECONDS: Final = 60.0
# A model that could not be loaded is not retried at every recall.
MODEL_RETRY_SECONDS: Final = 60.0
# A model or store that a worker cannot use.
WORKER_BACKOFF: Final = Backoff(1.0, 60.0)
# How many backoffs in a row a caller waits for who needs the work done.
MAX_BACKOFFS: Final = 6
# A queued job: 5 s, 20 s, 80 s … up to an hour. It is parked after some two and a half hours, so
# that a model that is down for an hour parks nothing.
JOB_BACKOFF: Final = Backoff(5.0, 3_600.0, growth=4.0)
MAX_JOB_ATTEMPTS: Final = 8


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Limits of one call of a hosted model: seconds per request, number of attempts, and seconds in
    all, waits included.
    """

    request_seconds: float
    attempts: int
    total_seconds: float
    first_wait: float = 0.0
    longest_wait: float = 0.0

    def wait(self, retry: int, jitter: float, asked: float | None) -> float:
        """Return the seconds before retry number `retry` (from 1); never less than the service
        asked for.
        """
        return max(Backoff(self.first_wait, self.longest_wait).wait(retry, jitter), asked or 0.0)


# The legs have 1.6 s of a recall's default deadline of 2 s, and a leg that is late cannot report
# why. A hosted query embedding usually takes 0.1 to 0.4 s.
QUERY_RETRIES: Final = RetryPolicy(
    request_seconds=1.2, attempts=2, total_seconds=1.2, first_wait=0.1, longest_wait=0.5
)
DOCUMENT_RETRIES: Final = RetryPolicy(request_seconds=20.0, attempts=1, total_seconds=20.0)
# A language model on a small machine takes a minute for a batch.
EXTRACTION_RETRIES: Final = RetryPolicy(request_seconds=300.0, attempts=1, total_seconds=300.0)
CURATION_RETRIES: Final = RetryPolicy(request_seconds=60.0, attempts=1, total_seconds=60.0)
# All attempts and waits together, since the capturing process ends after two minutes.
CAPTURE_RETRIES: Final = RetryPolicy(
    request_seconds=60.0, attempts=3, total_seconds=60.0, first_wait=1.0, longest_wait=10.0
)
# A service that asks for a longer wait is tried once an hour.
MAX_RETRY_AFTER: Final = 3_600.0


@dataclass(slots=True)
class RetryAfter:
    """Until when a service accepts no requests from an account; shared by everything sent with its
    key.
    """

    until: float = -math.inf

    def keep(self, seconds: float, now: float) -> None:
        self.until = max(self.until, now + min(seconds, MAX_RETRY_AFTER))

    def left(self, now: float) -> float:
        return max(0.0, self.until - now)


def is_retryable(status: int) -> bool:
    """Whether a later attempt may succeed: after too many requests, a timeout or a server error."""
    return status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.REQUEST_TIMEOUT) or status >= 500


def parse_retry_after(header: str | None, now: datetime) -> float | None:
    """Parse a Retry-After header, a number or a date, into seconds; None if it is neither."""
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
