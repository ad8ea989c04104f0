"""What the queues of both stores agree on; how often a job is retried is in `core/retry.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

RELEASED: Final = "it failed before, and was given back when it was its turn again"
"""The error of a text that failed and was claimed since: without any it would look like one that
crashed its worker."""

WORKER_DIED: Final = "its workers ended without an answer"
"""The error of a text that was tried often enough and is due once more: it crashed its workers."""

MAX_CRASHES: Final = 3
SOON: Final = 30.0
"""What failed less often than that, and is due within so many seconds, is worth waiting for."""

LONGEST_ERROR: Final = 500

T = TypeVar("T")


def select_batch(due: Sequence[T], is_suspect: Callable[[T], bool]) -> Sequence[T]:
    """Which of the due jobs, in order, are claimed together. One that was claimed before without a
    result may have crashed its worker: it goes alone, so that it takes no other job with it, and
    the jobs that were with it are soon cleared.
    """
    if due and is_suspect(due[0]):
        return due[:1]
    return [job for job in due if not is_suspect(job)]


def to_storable(error: str) -> str:
    return error.replace("\0", " ").encode("utf-8", "replace").decode()[:LONGEST_ERROR]
