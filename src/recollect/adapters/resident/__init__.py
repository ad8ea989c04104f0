"""The process that holds the model, and how other processes of the same home ask it."""

from __future__ import annotations


def socket_path(home: str) -> str:
    """Return where that process listens. Importing this module imports nothing else: a hook that
    finds no socket there does not need the rest.
    """
    return f"{home}/recall.sock"
