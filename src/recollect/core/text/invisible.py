"""Characters that no reader sees: they split words for a filter, and a model reads them all the
same.
"""

from __future__ import annotations

import re
from typing import Final

# Unicode's property Default_Ignorable_Code_Point, which Python does not know, and the blank Braille
# pattern. `tests/shells/web/test_memories.py` compares them with those that a browser knows.
INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def strip_invisible(text: str) -> str:
    return text if text.isascii() else INVISIBLE.sub("", text)
