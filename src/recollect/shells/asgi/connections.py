"""Which connections a server keeps open, and which one it closes to make room.

A waiting connection (for a request, or for the rest of one) costs its peer nothing, so a limit that
refuses new ones can be used up by anyone. Here the connection that has waited longest is closed
instead: a client that sends its request at once is served even while others hold hundreds of
connections open. No I/O: `shells/asgi/protocol.py` does what is decided here.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

C = TypeVar("C", bound=Hashable)


class Connections(Generic[C]):
    """At most `total` connections, and `per_address` from each address that is not `shared` by many
    clients, like a proxy's.
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
        """Add a new connection, which waits. Returns the one to close for it, if any: the new one
        itself if all others are being answered.
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
        """It was answered, or is new: it now waits, last in line."""
        if (address := self._addresses.get(connection)) is not None:
            self._waiting[connection] = None
            self._waiting_from[address][connection] = None

    def work(self, connection: C) -> None:
        """It has sent a request: it is not closed for another until that is answered."""
        if (address := self._addresses.get(connection)) is not None:
            self._waiting.pop(connection, None)
            self._waiting_from[address].pop(connection, None)

    def remove(self, connection: C) -> None:
        """It is closed. Later calls for it have no effect."""
        if connection not in self._addresses:
            return
        self.work(connection)
        address = self._addresses.pop(connection)
        self._counts[address] -= 1
        if not self._counts[address]:
            del self._counts[address], self._waiting_from[address]
