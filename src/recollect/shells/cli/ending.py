"""How a command ends itself, without importing the command-line library for it."""

from __future__ import annotations


class Exit(Exception):
    """End with this exit code; nothing more is said."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code
