"""The address of a store for reading only."""

from __future__ import annotations

import os
from urllib.parse import quote


def read_only_address(path: str) -> str:
    """Return the SQLite URI of the file. If there is no log, and SQLite may not create one next to
    the file, it reads the file as it is.
    """
    as_us = os.access in os.supports_effective_ids
    can_log = os.access(
        path.rpartition(os.sep)[0] or ".", os.W_OK, effective_ids=as_us
    ) or os.access(f"{path}-wal", os.F_OK)
    return f"file:{quote(path)}?{'mode=ro' if can_log else 'immutable=1'}"
