"""Read what an agent writes to a hook's stdin. Imports nothing: see `run.py`."""

from __future__ import annotations

import os

MAX_EVENT_BYTES = 4_000_000


def read_stdin(descriptor: int = 0) -> bytes:
    """Read all of stdin, or slightly more than the limit."""
    chunks: list[bytes] = []
    size = 0
    while size <= MAX_EVENT_BYTES and (chunk := os.read(descriptor, 1 << 16)):
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)
