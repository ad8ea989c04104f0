"""How a command exits without importing the command-line library."""

from __future__ import annotations


class Exit(Exception):
    """Exit with this code and print nothing more."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code
