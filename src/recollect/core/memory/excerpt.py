"""The beginning of a long text, for where many memories are shown at once."""

from __future__ import annotations

from typing import Final

LISTED: Final = 300
"""Characters of a memory in a list for people."""

_MIN_SHARE: Final = 0.8


def excerpt(text: str, length: int) -> str:
    """The text, or its first `length` characters, up to the end of a word where one is near."""
    if len(text) <= length:
        return text
    end = text.rfind(" ", int(_MIN_SHARE * length), length)
    return f"{text[: length if end < 0 else end].rstrip()}…"
