"""Which statements capture has already handled. A resumed or forked session repeats them, perhaps
in another project, and they must not be captured again: the user may have edited or removed them.

The file contains digests of equal length; the first is their salt.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

from recollect.adapters.files.hook_log import append

_DIGEST: Final = 16
# Some 60,000 statements; beyond that the older half is dropped.
MAX_BYTES: Final = 1_000_000


class HandledStatements:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._data = path.read_bytes() if path.exists() else b""
        self._salt = self._data[:_DIGEST] or os.urandom(_DIGEST)
        places = range(_DIGEST, len(self._data), _DIGEST)
        self._known = {self._data[at : at + _DIGEST] for at in places}

    def has(self, content: str, said_at: datetime) -> bool:
        return self._digest(content, said_at) in self._known

    def add(self, statements: Iterable[tuple[str, datetime]]) -> None:
        """Add statements. Only one process may call this at a time."""
        new = b"".join(self._digest(*statement) for statement in statements)
        if len(self._data) > MAX_BYTES:
            half = len(self._data) // 2 // _DIGEST * _DIGEST
            fresh = self._path.with_name(f"{self._path.name}.new")
            fresh.write_bytes(self._salt + self._data[half:] + new)
            fresh.replace(self._path)
        elif new:
            append(str(self._path), new if self._data else self._salt + new)

    def _digest(self, content: str, said_at: datetime) -> bytes:
        text = f"{said_at.isoformat()}\x1f{content}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, key=self._salt, digest_size=_DIGEST).digest()
