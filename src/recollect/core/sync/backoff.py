"""How long to wait after a failure: longer each time, and never all at the same moment."""

from __future__ import annotations

from typing import Final

FIRST_SECONDS: Final = 1.0


def pause(failures: int, longest: float, share: float) -> float:
    """Seconds before the next attempt: doubled for each failure up to `longest`, of which a random
    `share` of 0 to 1 decides the second half, so that clients of a server that comes back do not
    all come at once.
    """
    whole = min(FIRST_SECONDS * 2.0 ** min(max(failures - 1, 0), 30), longest)
    return whole * (0.5 + 0.5 * share)
