"""A real server for tests: uvicorn on a free port, over real Postgres, in a thread of its own."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.waiting import SECONDS

from recollect import settings
from recollect.core.privacy.keys import Role
from recollect.shells.asgi.listening import listen, url_of
from recollect.shells.asgi.protocol import ConnectionLimits
from recollect.shells.serve import serve
from recollect.usecases.admin.keys import issue_key
from recollect.wiring.server import Server, open_server

if TYPE_CHECKING:
    from tests.conftest import Cluster

_numbers = count(1)


@dataclass(frozen=True)
class Running:
    """A server that answers at `url`."""

    url: str
    server: Server
    loop: asyncio.AbstractEventLoop
    stopping: asyncio.Event

    def new_key(
        self,
        owner: str | None = None,
        *,
        label: str = "",
        role: Role = "admin",
        project: str | None = None,
    ) -> str:
        """Issue a key of this owner, or of a new one who has nothing stored yet."""
        name = owner or f"owner {next(_numbers)}"
        issuing = issue_key(
            self.server.keys, self.server.clock, name, label, role=role, project=project
        )
        return asyncio.run_coroutine_threadsafe(issuing, self.loop).result()[1]

    def client(self, key: str | None = None) -> httpx.Client:
        return httpx.Client(
            base_url=f"{self.url}/api/v1/",
            headers={"Authorization": f"Bearer {key or self.new_key()}"},
            trust_env=False,
            timeout=SECONDS,
        )


def serve_tests(
    cluster: Cluster, folders: pytest.TempPathFactory, name: str, **overrides: Any
) -> Iterator[Running]:
    """Serve many tests with one server; they do not interfere, since each has owners of its own."""
    name = re.sub(r"\W", "_", name)[-40:]  # a worker's name is appended; Postgres allows 63 bytes
    with running(cluster.create(name), folders.mktemp(name), **overrides) as up:
        yield up
    cluster.drop(name)


@contextmanager
def running(
    database_url: str,
    home: Path,
    limits: ConnectionLimits | None = None,
    *,
    port: int = 0,
    **overrides: object,
) -> Iterator[Running]:
    """Run the whole server, as `recollect serve` does; it is stopped cleanly at the end."""
    chosen = settings.load(database_url=database_url, home=home, port=port, **overrides)
    ready: Future[Running] = Future()

    async def main() -> None:
        stopping = asyncio.Event()
        with listen(chosen.host, chosen.port) as listening:
            async with open_server(chosen) as server:

                async def tell() -> None:
                    loop = asyncio.get_running_loop()
                    ready.set_result(Running(url_of(listening), server, loop, stopping))

                await serve(server, listening, stopping, tell, limits)

    def run() -> None:
        try:
            asyncio.run(main())
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    thread = threading.Thread(target=run, name="server")
    thread.start()
    try:
        answering = ready.result()
        try:
            yield answering
        finally:
            answering.loop.call_soon_threadsafe(answering.stopping.set)
    finally:
        thread.join()
