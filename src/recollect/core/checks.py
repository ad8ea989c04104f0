"""The outcome of one `doctor` check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

PARKED_REMEDY: Final = (
    "Correct the cause on the server; then run `recollect worker --once --retry` there."
)
"""What is parked is not tried again by itself."""


@dataclass(frozen=True, slots=True)
class Check:
    """`remedy` says what to do, and is empty when all is well."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    remedy: str = ""
