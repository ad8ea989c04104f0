"""Which hints were shown today, so that a person reads each once a day."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path


class ShownHints:
    """The file in a home."""

    def __init__(self, home: Path) -> None:
        self._file = home / "hints-shown.json"

    def note(self, hint: str, day: str) -> bool:
        """Record a hint as shown on this day; False if it was before. If that cannot be saved, it
        is shown again.
        """
        try:
            shown = json.loads(self._file.read_text())
        except (OSError, ValueError):
            shown = {}
        if not isinstance(shown, dict) or shown.get("day") != day:
            shown = {"day": day, "hints": []}
        if hint in shown["hints"]:
            return False
        shown["hints"].append(hint)
        with suppress(OSError):
            self._file.write_text(json.dumps(shown))
        return True
