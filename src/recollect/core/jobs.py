"""What the job queues of both stores have in common; how often a job is retried is in
`core/retry.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

RELEASED: Final = "it failed before, and was given back when it was its turn again"
"""The error of a job that failed before and is claimed again: without an error, a claimed job looks
as if it had crashed its worker."""

WORKER_DIED: Final = "its workers ended without an answer"
"""The error of a job that is parked because its workers died without an answer."""

MAX_CRASHES: Final = 3
SOON: Final = 30.0
"""Seconds. A job that failed fewer than MAX_CRASHES times and is due within this time is worth
waiting for."""

MAX_ERROR_CHARS: Final = 500

T = TypeVar("T")


def select_batch(due: Sequence[T], is_suspect: Callable[[T], bool]) -> Sequence[T]:
    """Select which of the due jobs, in order, are claimed together. A job that was claimed before
    without a result may have crashed its worker: it is claimed alone, so that it takes no other job
    down with it, and the jobs that were claimed with it are soon cleared of suspicion.
    """
    if due and is_suspect(due[0]):
        return due[:1]
    return [job for job in due if not is_suspect(job)]


def to_storable(error: str) -> str:
    return error.replace("\0", " ").encode("utf-8", "replace").decode()[:MAX_ERROR_CHARS]
