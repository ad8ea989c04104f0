"""uvicorn's HTTP protocol with the limits it lacks: on connections, and on the time a peer takes.

uvicorn waits forever for the rest of a header, for the rest of a body it no longer needs, and for a
peer that does not read its answer. Each of these holds a file descriptor without needing a key, and
a few hundred of them stop the server.
"""

from __future__ import annotations

import asyncio
import resource
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Any, ClassVar, Final, Generic, TypeVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from recollect.core.errors import Overloaded
from recollect.settings import Settings
from recollect.shells.asgi.problems import error_response

# Connections decides which connections stay open, and which one is closed to make room. A waiting
# connection (for a request, or for the rest of one) costs its peer nothing, so anyone could use up
# a limit that refuses new connections. Instead, the connection that has waited longest is closed: a
# client that sends its request at once is served even while others hold hundreds of connections
# open. It does no I/O itself.

C = TypeVar("C", bound=Hashable)


class Connections(Generic[C]):
    """At most `total` connections, and at most `per_address` from one address, unless many clients
    share it, like a proxy's.
    """

    def __init__(
        self, total: int, per_address: int, is_shared: Callable[[str], bool] = lambda _: False
    ) -> None:
        self._total = total
        self._per_address = per_address
        self._is_shared = is_shared
        self._addresses: dict[C, str] = {}
        self._counts: Counter[str] = Counter()
        self._waiting: OrderedDict[C, None] = OrderedDict()
        self._waiting_from: defaultdict[str, OrderedDict[C, None]] = defaultdict(OrderedDict)

    def __len__(self) -> int:
        return len(self._addresses)

    def add(self, connection: C, address: str) -> C | None:
        """Add a new, waiting connection. Return the one to close for it, if any: the new one itself
        if all others are being answered.
        """
        self._addresses[connection] = address
        self._counts[address] += 1
        self.wait(connection)
        if self._counts[address] > self._per_address and not self._is_shared(address):
            return next(iter(self._waiting_from[address]))
        if len(self._addresses) > self._total:
            return next(iter(self._waiting))
        return None

    def wait(self, connection: C) -> None:
        """Mark a connection as waiting, last in line: it is new, or its request was answered."""
        if (address := self._addresses.get(connection)) is not None:
            self._waiting[connection] = None
            self._waiting_from[address][connection] = None

    def work(self, connection: C) -> None:
        """Mark a connection as busy: it is not closed before its request is answered."""
        if (address := self._addresses.get(connection)) is not None:
            self._waiting.pop(connection, None)
            self._waiting_from[address].pop(connection, None)

    def remove(self, connection: C) -> None:
        """Remove a closed connection. Later calls for it have no effect."""
        if connection not in self._addresses:
            return
        self.work(connection)
        address = self._addresses.pop(connection)
        self._counts[address] -= 1
        if not self._counts[address]:
            del self._counts[address], self._waiting_from[address]


# File descriptors reserved for Postgres, models and the log.
_OTHER_FILES: Final = 200


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of one server. Many clients share the address of a `trusted` proxy.

    A client that was answered early has `drain_seconds` to send the rest of its body, since it
    reads the answer only then. It has `write_seconds` to read an answer, from the first time that
    the server has to wait for it.
    """

    connections: int
    per_address: int
    header_seconds: float
    trusted: tuple[str, ...] = ()
    drain_seconds: float = 5.0
    write_seconds: float = 30.0

    @classmethod
    def from_settings(cls, settings: Settings) -> ConnectionLimits:
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return cls(
            min(settings.max_connections, max(files - _OTHER_FILES, 1)),
            settings.max_connections_per_address,
            settings.header_timeout,
            settings.trusted_proxies,
        )

    def is_shared(self, address: str) -> bool:
        """Return whether many clients share the address. Loopback is shared too: everything on this
        machine connects from there, including a proxy.
        """
        try:
            ip = ip_address(address)
        except ValueError:
            return False
        return ip.is_loopback or any(ip in ip_network(network) for network in self.trusted)


def make_limited_protocol(limits: ConnectionLimits) -> type[LimitedProtocol]:
    """Return the protocol class of one server, which counts its own connections."""
    open = Connections[LimitedProtocol](limits.connections, limits.per_address, limits.is_shared)
    return type("LimitedProtocol", (LimitedProtocol,), {"limits": limits, "open": open})


class LimitedProtocol(H11Protocol):
    """One connection: either waiting, or with a request that is being answered. Only waiting is
    limited here, since requests have their own deadlines.
    """

    limits: ClassVar[ConnectionLimits]
    open: ClassVar[Connections[LimitedProtocol]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  # uvicorn's own
        super().__init__(*args, **kwargs)
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._limit_reading(self.limits.header_seconds)
        address = self.client[0] if self.client else ""
        excess = self.open.add(self, address)
        if excess is self:
            self._refuse()
        elif excess is not None:
            excess.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unlimit_reading()
        self._unlimit_writing()
        self.open.remove(self)

    def data_received(self, data: bytes) -> None:
        if not self._is_answering() and not self.transport.get_write_buffer_size():
            self._unlimit_writing()  # the previous answer was read
        super().data_received(data)
        if self._is_answering():
            self._unlimit_reading()
            self.open.work(self)
        elif self._reading is None:  # the first bytes of another request
            self._limit_reading(self.limits.header_seconds)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.get_write_buffer_size():
            self._limit_writing()
        if self._is_answering():  # the next request has already arrived
            return
        self.open.wait(self)
        if self.conn.their_state is h11.SEND_BODY:
            self._limit_reading(self.limits.drain_seconds)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._limit_writing()

    def abort(self) -> None:
        """Close at once, without waiting for reads or writes."""
        self.open.remove(self)
        self.transport.abort()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _refuse(self) -> None:
        self.open.remove(self)
        self.transport.write(_FULL_RESPONSE)
        self.transport.close()

    def _limit_reading(self, seconds: float) -> None:
        self._unlimit_reading()
        self._reading = self.loop.call_later(seconds, self.abort)

    def _unlimit_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _limit_writing(self) -> None:
        """Set one deadline per answer, however often its client reads a little of it. Answers that
        were requested before the previous one was read share its deadline.
        """
        if self._writing is None:
            self._writing = self.loop.call_later(
                self.limits.write_seconds, self._abort_unless_written
            )

    def _unlimit_writing(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def _abort_unless_written(self) -> None:
        self._writing = None
        if self.transport.get_write_buffer_size():
            self.abort()


def _build_full_response() -> bytes:
    """Build the answer to a connection above the limit."""
    answer = error_response(
        Overloaded(
            "the server has reached its limit of connections",
            remedy="Try again in a moment, or raise RECOLLECT_MAX_CONNECTIONS.",
        )
    )
    lines = [b"HTTP/1.1 503 Service Unavailable", b"connection: close"]
    lines += [name + b": " + value for name, value in answer.raw_headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + bytes(answer.body)


_FULL_RESPONSE: Final = _build_full_response()
