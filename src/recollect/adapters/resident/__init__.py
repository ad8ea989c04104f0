"""The process that holds the model, and how other processes of the same home ask it."""

from __future__ import annotations


def socket_path(home: str) -> str:
    """Where that process listens. Importing this imports nothing: a hook that finds no socket there
    has no use for the rest.
    """
    return f"{home}/recall.sock"
