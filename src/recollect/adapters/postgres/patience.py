"""How long Postgres is waited for: in one place, so that every connection is given the same."""

from __future__ import annotations

from typing import Final

CONNECT_SECONDS: Final = 10
"""For a new connection, when a server, a worker or a command starts."""

POOL_SECONDS: Final = 3
"""For a connection of the pool, while somebody waits for the answer to a request."""
