"""A server's client that is made when the server is first asked.

A store with a server behind it answers much by itself. The client of the server, and the libraries
that it is made of, take longer to import than all of that.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Self

from recollect.core.privacy.egress import is_loopback

if TYPE_CHECKING:
    from recollect.adapters.http.sync import RemoteSync

# Addresses and keys in which there is nothing to refuse; the client judges all others at once.
_PLAIN_HTTPS: Final = re.compile(r"https://[a-z0-9.-]+(:[1-5]?[1-9][0-9]{0,3})?/?")
_PLAIN_HERE: Final = re.compile(r"http://(127\.0\.0\.1|localhost)(:[1-5]?[1-9][0-9]{0,3})?/?")
_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


class LazyServer:
    """Everything a `RemoteSync` does: the first use makes it. Use it as `async with`."""

    def __init__(self, url: str, key: str, make: Callable[[], RemoteSync]) -> None:
        self._make = make
        self._made: RemoteSync | None = None
        self.is_here = is_loopback(url)
        is_plain = _PLAIN_HTTPS.fullmatch(url) or _PLAIN_HERE.fullmatch(url)
        if not is_plain or not _PLAIN_KEY.fullmatch(key):
            self._made = make()
            self.is_here = self._made.is_here

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._made is not None:
            await self._made.__aexit__()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the server's client has
        if self._made is None:
            self._made = self._make()
        return getattr(self._made, name)
