"""The outcome of one `doctor` check, and what several shells say to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

PARKED_REMEDY: Final = (
    "Correct the cause on the server; then run `recollect worker --once --retry` there."
)
"""What is parked is not tried again by itself."""
MORE_THAN_WORDS: Final = (
    "To recall by meaning as well, run `recollect serve` and set RECOLLECT_API_URL and "
    "RECOLLECT_API_KEY."
)
WORDS_ONLY: Final = f"The local store recalls by words only. {MORE_THAN_WORDS}"


@dataclass(frozen=True, slots=True)
class Check:
    """`remedy` says what to do. It is empty when nothing is to be done."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    remedy: str = ""
