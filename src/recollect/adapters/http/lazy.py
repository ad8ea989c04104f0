"""A client that is created with the first request to the server.

A store that syncs with a server answers most requests by itself. The client and its libraries take
longer to import than such a request takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Self

from recollect.core.privacy.egress import is_loopback

if TYPE_CHECKING:
    from recollect.adapters.http.sync import RemoteSync

# URLs and keys that are certainly valid; for all others the client is created and checks them.
_PLAIN_HTTPS: Final = re.compile(r"https://[a-z0-9.-]+(:[1-5]?[1-9][0-9]{0,3})?/?")
_PLAIN_HERE: Final = re.compile(r"http://(127\.0\.0\.1|localhost)(:[1-5]?[1-9][0-9]{0,3})?/?")
_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


class LazyServer:
    """Behaves as a `RemoteSync`, which the first use creates. Open it with `async with`."""

    def __init__(self, url: str, key: str, make: Callable[[], RemoteSync]) -> None:
        self._make = make
        self._server: RemoteSync | None = None
        self.is_here = is_loopback(url)
        is_plain = _PLAIN_HTTPS.fullmatch(url) or _PLAIN_HERE.fullmatch(url)
        if not is_plain or not _PLAIN_KEY.fullmatch(key):
            self._server = make()
            self.is_here = self._server.is_here

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            await self._server.__aexit__()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the server's client has
        if self._server is None:
            self._server = self._make()
        return getattr(self._server, name)
