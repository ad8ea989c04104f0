"""The beginning of a long text, for places that show many memories at once."""

from __future__ import annotations

from typing import Final

LISTED: Final = 300
"""The number of characters of a memory in a list for people."""

_MIN_SHARE: Final = 0.8


def excerpt(text: str, length: int) -> str:
    """Return the text, or its first `length` characters, up to the end of a word if one is near."""
    if len(text) <= length:
        return text
    end = text.rfind(" ", int(_MIN_SHARE * length), length)
    return f"{text[: length if end < 0 else end].rstrip()}…"
