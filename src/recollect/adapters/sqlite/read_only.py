"""Where a store is found by those that only read it."""

from __future__ import annotations

import os
from urllib.parse import quote


def read_only_address(path: str) -> str:
    """Where SQLite may not put its log beside the file, and there is none, it reads the file as it
    is.
    """
    as_us = os.access in os.supports_effective_ids
    can_log = os.access(
        path.rpartition(os.sep)[0] or ".", os.W_OK, effective_ids=as_us
    ) or os.access(f"{path}-wal", os.F_OK)
    return f"file:{quote(path)}?{'mode=ro' if can_log else 'immutable=1'}"
