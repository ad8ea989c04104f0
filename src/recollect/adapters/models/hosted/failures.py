"""Why a hosted API call failed: a value, because an exception of the HTTP library contains the
request, with its key and its texts.

A reason never quotes the answer either: servers like to repeat what they received, and a reason
ends up in logs.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Literal

from recollect.core.retry import is_retryable

LATER: Final = "Try again later; recall continues with its other legs."
BUSY: Final = "Wait, or raise the rate limit or the quota of the key."
_REFUSED: Final = "Check the model, its dimension and the length of the texts."
_REMEDIES: Final[dict[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "Check the key: the service rejected it.",
    HTTPStatus.FORBIDDEN: "Check the key: it may not use this model.",
    HTTPStatus.NOT_FOUND: "Check the model name and the address.",
    HTTPStatus.TOO_MANY_REQUESTS: BUSY,
}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer, what to do, and whether a retry can help."""

    reason: str
    remedy: str
    again: bool = False
    asked_wait: float | None = None
    kind: Literal["fault", "busy", "slow"] = "fault"


def read_status(status: int, asked_wait: float | None) -> Failure | None:
    """What an HTTP status says went wrong, if anything."""
    if status == HTTPStatus.OK:
        return None
    again = is_retryable(status)
    if 300 <= status < 400:
        # A redirect could send the text to a machine that no one allowed.
        remedy = "Use the final address: redirects are not followed."
    else:
        remedy = _REMEDIES.get(status, LATER if again else _REFUSED)
    is_busy = status == HTTPStatus.TOO_MANY_REQUESTS or (again and asked_wait is not None)
    asks = f" and asks to wait {asked_wait:.0f} s" if again and asked_wait else ""
    return Failure(
        f"answered with status {status}{asks}",
        remedy,
        again,
        asked_wait if again else None,
        "busy" if is_busy else "fault",
    )
