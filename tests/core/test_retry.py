"""How long to wait before a retry."""

from __future__ import annotations

import pytest

from recollect.core.retry import Backoff


@pytest.mark.parametrize(
    ("failures", "jitter", "seconds"),
    [(1, 0.0, 0.5), (1, 1.0, 1.0), (3, 0.0, 2.0), (3, 1.0, 4.0), (99, 0.0, 30.0), (99, 1.0, 60.0)],
)
def test_backoff_doubles_up_to_a_maximum_with_jitter(
    failures: int, jitter: float, seconds: float
) -> None:
    assert Backoff(1.0, 60.0).wait(failures, jitter) == pytest.approx(seconds)


def test_backoff_does_not_overflow() -> None:
    assert Backoff(0.05, 0.4).wait(10**6) == 0.4
