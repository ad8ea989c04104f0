"""How long to wait before a retry."""

from __future__ import annotations

# Far beyond any maximum, and far from overflowing.
_MAX_DOUBLINGS = 30


def backoff_seconds(failures: int, first: float, longest: float, jitter: float = 1.0) -> float:
    """`first` after one failure, doubled for each further one up to `longest`. A random `jitter` of
    0 to 1 spreads clients over the second half, so that they do not all return at once; 1 waits the
    full time.
    """
    doublings = min(max(failures - 1, 0), _MAX_DOUBLINGS)
    return min(first * 2.0**doublings, longest) * (0.5 + 0.5 * jitter)
