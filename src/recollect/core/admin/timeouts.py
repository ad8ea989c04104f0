"""Timeouts in one value that is passed in, so that tests and callers can choose theirs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Timeouts:
    """In seconds. How long one part waits for another: short enough for a person who waits, and
    longer than a healthy peer takes. Also the lifetimes of connections and claims.

    Not here: the deadline of a recall, which is a setting; backoffs; and limits of a single
    component, such as a download, the embedded Postgres, a connection to the HTTP server or a hook.
    Those are arguments or constants where they are used.
    """

    # A client of a server
    connect: float = 5.0
    """A server that is up accepts a connection at once."""
    request: float = 65.0
    """The longest recall that an operator can allow takes 60 s."""
    short_request: float = 15.0
    """For requests that run no model and read little; a server waits 3 s for its database."""
    network: float = 0.5
    """On top of a recall's deadline: a server with a leg that hangs uses most of the deadline,
    then answers without that leg, and the answer must still arrive."""
    remote_why: float = 20.0
    """For a `why` on a server, which waits up to `why` seconds for a leg that hangs."""
    push_after_command: float = 2.0
    """For a command to push what it wrote, after it has answered."""
    model_load: float = 1.0
    """For a query to wait for a model, from when loading began: one on this machine loads in
    less."""
    session_model: float = 2.0
    """For a recall of an agent's session to wait for the model of its home: when the session
    begins, the agent starts other programs too."""
    resident: float = 1.0
    """For the process that holds the model of a home to answer a recall, which takes it some tens
    of milliseconds."""
    sqlite_busy: float = 5.0
    """For a local store to wait for another process that writes."""

    # Where the memories are
    why: float = 10.0
    """For each phase of a `why`, which a person waits for."""

    # Postgres
    database_connect: int = 10
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
    """Probes. A firewall drops an idle connection after some minutes without notifying
    either end."""
    lease: float = 60.0
    """For a worker to finish what it claimed, before others may claim it."""
    give_back: float = 2.0
    """For a worker that is stopped to give back what it claimed."""
    poll: float = 2.0
    """Between two looks for work where notifications do not arrive."""

    def scaled(self, factor: float) -> Timeouts:
        """Wait `factor` times as long for peers, for a slow machine or network. Leases, lifetimes
        and keepalives are not waits and stay the same.
        """
        return replace(
            self,
            connect=factor * self.connect,
            request=factor * self.request,
            short_request=factor * self.short_request,
            network=factor * self.network,
            remote_why=factor * self.remote_why,
            push_after_command=factor * self.push_after_command,
            model_load=factor * self.model_load,
            session_model=factor * self.session_model,
            resident=factor * self.resident,
            sqlite_busy=factor * self.sqlite_busy,
            why=factor * self.why,
            database_connect=max(1, round(factor * self.database_connect)),
            acquire=factor * self.acquire,
            give_back=factor * self.give_back,
        )


TIMEOUTS: Final = Timeouts()
