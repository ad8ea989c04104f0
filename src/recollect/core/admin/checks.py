"""The result of one `doctor` check, and remedies that several places use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

PARKED_REMEDY: Final = (
    "Fix the cause on the server, then run `recollect worker --once --retry` there."
)
"""Parked jobs are not retried automatically."""


@dataclass(frozen=True, slots=True)
class Check:
    """`remedy` says what to do; empty if nothing is wrong."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    remedy: str = ""


def more_than_words(model: str, megabytes: int) -> str:
    """Return how to get recall by meaning in a local store whose model is not on this machine."""
    return (
        f"To recall by meaning as well, run `recollect models get {model}`, which downloads "
        f"{megabytes} MB once."
    )


def words_only(remedy: str) -> str:
    return f"The local store recalls by words only. {remedy}"


MORE_THAN_WORDS: Final = more_than_words("minilm", 83)
WORDS_ONLY: Final = words_only(MORE_THAN_WORDS)
"""The same for the default model."""


def how_to_install(extra: str) -> str:
    """Return how to get an optional package. Not from PyPI: another project has our name there."""
    if extra == "bench":  # a distribution of its own
        return (
            "In a clone of Recollect, run `make install EXTRAS=bench`, or "
            "`uv tool install '.[bench]' --with ./bench`."
        )
    return (
        f"In a clone of Recollect, run `make install EXTRAS={extra}`, "
        f"`uv tool install '.[{extra}]'` or `pipx install '.[{extra}]'`."
    )
