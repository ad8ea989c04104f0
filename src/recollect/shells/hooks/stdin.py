"""What an agent writes to a hook's stdin. It imports nothing: see `run.py`."""

from __future__ import annotations

import os

MAX_EVENT_BYTES = 4_000_000


def read_stdin(descriptor: int = 0) -> bytes:
    """All of it, or a little more than is allowed."""
    chunks: list[bytes] = []
    size = 0
    while size <= MAX_EVENT_BYTES and (chunk := os.read(descriptor, 1 << 16)):
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)
