"""One process that serves everything: the REST API, the page and MCP, from start to clean stop.

The only module that may import several shells.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import Final

import structlog
import uvicorn
from fastapi import FastAPI
from starlette.routing import Route

from recollect import __version__
from recollect.core.admin.checks import Check
from recollect.core.errors import InvalidInput, RecollectError
from recollect.core.privacy.egress import is_loopback
from recollect.settings import Settings
from recollect.shells.api.app import DOCS, create_app
from recollect.shells.asgi.listening import listen, url_of
from recollect.shells.asgi.protocol import ConnectionLimits, make_limited_protocol
from recollect.shells.logs import log_steps, log_to_stderr
from recollect.shells.mcp.http import mcp_endpoint
from recollect.shells.web import page_routes
from recollect.shells.web.link import OneTimeLink
from recollect.shells.worker import run_workers
from recollect.usecases.admin.keys import issue_first_key, issue_key
from recollect.usecases.admin.settings import check_some_leg
from recollect.usecases.tasks import cancel_and_wait
from recollect.wiring.local_server import open_local_server
from recollect.wiring.server import Server, open_server

log = structlog.get_logger("recollect")

MCP: Final = "/mcp"
# How long requests in progress may continue after the server is stopped.
_GRACE_SECONDS: Final = 3
_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

OnReady = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Ready:
    """What to print once the server answers. `key` is set only if it was just created."""

    url: str
    database: str
    key: str | None

    def as_dict(self) -> dict[str, object]:
        values: dict[str, object] = {
            "url": self.url,
            "page": f"{self.url}/",
            "docs": self.url + DOCS,
            "mcp": self.url + MCP,
            "database": self.database,
            "pid": os.getpid(),
        }
        return values if self.key is None else {**values, "key": self.key}

    def text(self) -> str:
        about_key = (
            "Your key is in the lines below, shown only this once: the server keeps a hash of it."
            if self.key
            else "Use the key that was shown at the first start, or make one: recollect keys create"
        )
        return f"""Recollect is ready
  page      {self.url}/
  API docs  {self.url}{DOCS}
  MCP       {self.url}{MCP}
  store     {self.database}

{about_key}

Connect the command line:
  export RECOLLECT_API_URL={self.url}
  export RECOLLECT_API_KEY={self.key or "YOUR_KEY"}
Connect Claude Code:
  claude mcp add --transport http recollect {self.url}{MCP} \
--header "Authorization: Bearer $RECOLLECT_API_KEY"

Stop with Ctrl-C."""


def run(settings: Settings, *, ready_file: Path | None = None, as_json: bool = False) -> None:
    """Serve until a signal says stop."""
    log_to_stderr()
    asyncio.run(_run(settings, ready_file, as_json=as_json))


def run_page(settings: Settings, *, port: int, as_json: bool) -> None:
    """Serve the page of the local store, on this machine alone, until a signal says stop."""
    log_to_stderr()
    asyncio.run(_run_page(settings, port, as_json=as_json))


async def _run_page(settings: Settings, port: int, *, as_json: bool) -> None:
    stopping = asyncio.Event()
    for number in _STOP_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    with listen("127.0.0.1", port) as listening:
        async with open_local_server(settings, log_steps()) as server:

            async def announce() -> None:
                _, key = await issue_key(
                    server.keys, server.clock, settings.owner, "page", role="admin"
                )
                once.open_with(key)
                # Browsers do not send what follows the #, so the code appears in no log.
                link = f"{url_of(listening)}/#link={once.code}"
                text = f"Open this link. It works once; the page works until Ctrl-C.\n  {link}"
                sys.stdout.write((json.dumps({"page": link}) if as_json else text) + "\n")
                sys.stdout.flush()

            once = OneTimeLink()
            await serve(server, listening, stopping, announce, also=[once.route()])


def compose(
    server: Server, also: Sequence[Route] = ()
) -> tuple[FastAPI, AbstractAsyncContextManager[None]]:
    """Build one app of all shells that speak HTTP and of the routes in `also`. Return it with the
    context manager that must be entered while it serves.
    """
    app = create_app(server, also_closed=(MCP,), doctor=lambda: _examine(server.settings))
    mcp = mcp_endpoint(app.state.server)  # this server, since its recalls are counted
    app.router.routes.append(Route(MCP, mcp.app))
    app.router.routes.extend([*page_routes(is_local=server.changes is None), *also])
    return app, mcp.running()


def _examine(settings: Settings) -> list[Check]:
    from recollect.shells.doctor.checks import examine

    return list(examine(settings, full=False))


async def _run(settings: Settings, ready_file: Path | None, *, as_json: bool) -> None:
    stopping = asyncio.Event()
    for number in _STOP_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    with listen(settings.host, settings.port) as listening, ExitStack() as at_end:
        async with open_server(settings, log_steps()) as server:

            async def announce() -> None:
                key = await issue_first_key(server.keys, server.clock, settings.owner)
                ready = Ready(url_of(listening), server.database, key)
                text = json.dumps(ready.as_dict())
                if ready_file is not None:
                    write_private(ready_file, text)
                    at_end.callback(_remove, ready_file, text)
                if key is not None:
                    _make_output_private()
                sys.stdout.write((text if as_json else ready.text()) + "\n")
                sys.stdout.flush()

            warn_without_tls(settings)
            log.info("started", version=__version__, url=url_of(listening), pid=os.getpid())
            await serve(server, listening, stopping, announce)
            log.info("stopping")
    log.info("stopped")


def warn_without_tls(settings: Settings) -> None:
    """Warn if keys and memories would travel in clear text, unless a proxy adds TLS."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    if not is_loopback(f"http://{host}") and not settings.trusted_proxies:
        log.warning(
            "listening on a network without TLS",
            host=settings.host,
            remedy="Put a TLS proxy in front of it and name that in RECOLLECT_TRUSTED_PROXIES, or "
            "listen on 127.0.0.1.",
        )


async def serve(
    server: Server,
    listening: socket,
    stopping: asyncio.Event,
    on_ready: OnReady,
    limits: ConnectionLimits | None = None,
    also: Sequence[Route] = (),
) -> None:
    """Answer on a listening socket until `stopping` is set. `limits` replace those of the
    settings.
    """
    await check_some_leg(server.context)
    app, running = compose(server, also)
    app.state.stopping = stopping
    config = uvicorn.Config(
        app,
        http=make_limited_protocol(limits or ConnectionLimits.from_settings(server.settings)),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(server.settings.trusted_proxies),
        forwarded_allow_ips=[*server.settings.trusted_proxies],
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    answering = _Uvicorn(config, on_ready)

    async def stop_when_asked() -> None:
        await stopping.wait()
        await asyncio.sleep(server.settings.drain_seconds)
        answering.should_exit = True

    if stopping.is_set():
        return
    with _unwrap_group():
        async with running, run_workers(server):
            stopping_when_asked = asyncio.create_task(stop_when_asked())
            preparing = asyncio.create_task(_prepare(server))
            try:
                await answering.serve([listening])
            finally:
                await cancel_and_wait(stopping_when_asked, preparing)


async def _prepare(server: Server) -> None:
    """Load the model now, so that the first recalls need not wait for it."""
    if server.prepare is not None:
        with suppress(RecollectError):  # recalls try again, and report it
            await server.prepare()


@contextmanager
def _unwrap_group() -> Iterator[None]:
    """Unwrap a group of a single error: MCP's task groups wrap every error."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if error is group:
            raise
        raise error from error.__cause__


class _Uvicorn(uvicorn.Server):
    """Calls `on_ready` once it answers. uvicorn raises the signals it caught again at its end; they
    then reach the handlers of `_run`, so that Postgres is still stopped after it.
    """

    def __init__(self, config: uvicorn.Config, on_ready: OnReady) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        try:
            await self._on_ready()
        except BaseException:
            await self.shutdown(sockets)
            raise


def _make_output_private() -> None:
    """Make stdout readable by its owner only if it is a file, since a key is written to it."""
    with suppress(OSError, ValueError):  # another account's file, or stdout has no descriptor
        descriptor = sys.stdout.fileno()
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fchmod(descriptor, 0o600)


def write_private(path: Path, text: str) -> None:
    """Write a file atomically, readable by its owner only from the first byte on."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.unlink(missing_ok=True)  # left by a killed server; containers reuse pids
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        partial.replace(path)
    except OSError as error:
        raise InvalidInput(
            f"the ready file {path} cannot be written: {error.strerror}",
            field="--ready-file",
            remedy="Name a file in a folder that exists and that this account may write to.",
        ) from error


def _remove(path: Path, text: str) -> None:
    """Remove the ready file, unless a server that started meanwhile has replaced it."""
    with suppress(OSError, ValueError):
        if path.read_text() == text:
            path.unlink()
