"""Every timeout in one value that is passed in, so that tests and embedders can choose theirs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timeouts:
    """In seconds."""

    # Postgres
    connect: int = 10
    """For a new connection, when a server, a worker or a command starts."""
    acquire: float = 3.0
    """For a connection from the pool, while a request waits."""
    max_idle: float = 600.0
    """A pooled connection that was unused for longer was opened for a peak that is over."""
    max_lifetime: float = 3_600.0
    """A backend caches what it once looked up: it is replaced before that grows large."""
    keepalive_idle: int = 30
    keepalive_interval: int = 5
    keepalive_count: int = 2
    """Probes. A firewall drops an idle connection after some minutes without telling either end."""
    lease: float = 60.0
    """For a worker to finish what it claimed, before others may claim it."""
    poll: float = 2.0
    """Between two looks for work where notifications do not arrive."""
