"""The result of one `doctor` check, and remedies that several shells use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

PARKED_REMEDY: Final = (
    "Fix the cause on the server, then run `recollect worker --once --retry` there."
)
"""What is parked is not retried automatically."""
MORE_THAN_WORDS: Final = (
    "To recall by meaning as well, run `recollect models get minilm`, which downloads 83 MB once."
)
WORDS_ONLY: Final = f"The local store recalls by words only. {MORE_THAN_WORDS}"


@dataclass(frozen=True, slots=True)
class Check:
    """`remedy` says what to do; empty if nothing is wrong."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    remedy: str = ""
