"""How long is waited for others, in seconds: one value, made once and injected."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Each is as short as a person who waits would want, and longer than a healthy peer takes."""

    # A client of a server.
    # A server that is up accepts a connection at once.
    connect: float = 5.0
    # The longest recall that an operator can allow takes 60 s.
    request: float = 65.0
    # Where no model is asked and little is read; a server waits three seconds for its database.
    short_request: float = 15.0
    # Beyond a recall's deadline: a server with a leg that hangs uses most of the deadline itself,
    # then answers without that leg, and the answer must still arrive.
    network: float = 0.5
    # For a `why`, which a person waits for: a leg that hangs gets ten seconds on the server, and
    # then the rest of the answer is made.
    remote_why: float = 20.0
    # How long a command may push what it wrote, after its answer.
    push_after_command: float = 2.0
    # How long a query still waits for a model that is being loaded, from when that began: one that
    # is on this machine loads in less, and a recall has time for it.
    model_load: float = 1.0
    # How long a local store waits for another process that writes.
    sqlite_busy: float = 5.0

    def scaled(self, factor: float) -> Timeouts:
        """All of them, `factor` times as long: for a slow machine or network."""
        return Timeouts(
            **{field.name: factor * getattr(self, field.name) for field in fields(self)}
        )


TIMEOUTS: Final = Timeouts()
