"""The outcome of one `doctor` check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Check:
    """`remedy` says what to do, and is empty when all is well."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    remedy: str = ""
