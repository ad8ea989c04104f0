"""Connections for work on the database itself: migrations, roles and extensions."""

from __future__ import annotations

from typing import Any

import psycopg

from recollect.core.admin.timeouts import Timeouts


def connect(
    url: str, timeouts: Timeouts, *, autocommit: bool = True
) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection of its own, outside the pool, that also works behind PgBouncer."""
    return psycopg.connect(
        url,
        autocommit=autocommit,
        prepare_threshold=None,
        connect_timeout=timeouts.database_connect,
    )
