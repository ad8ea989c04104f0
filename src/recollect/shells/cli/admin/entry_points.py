"""The commands of the other shells: serve, page, worker, mcp, bench.

Shells do not import each other, so `main` passes their entry points in; each is imported only when
its command is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from recollect.core.errors import InvalidInput
from recollect.shells.cli.agents import hook
from recollect.shells.cli.framework.options import AsJson
from recollect.shells.cli.framework.shell import require_own_database

if TYPE_CHECKING:
    from recollect.settings import Settings


class Serve(Protocol):
    """Serve until stopped; the ready file is written once requests are answered."""

    def __call__(self, settings: Settings, *, ready_file: Path | None, as_json: bool) -> None: ...


class ServePage(Protocol):
    """Serve the page of the local store until stopped."""

    def __call__(self, settings: Settings, *, port: int, as_json: bool) -> None: ...


class Work(Protocol):
    """Embed, fill the graph and curate until stopped or, with `once`, until nothing waits; `retry`
    includes what failed, and `local` means the local store.
    """

    def __call__(
        self, settings: Settings, *, once: bool, retry: bool, local: bool, as_json: bool
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class EntryPoints:
    """How to enter each of the other shells."""

    serve: Serve
    page: ServePage
    worker: Work
    mcp: Callable[[], None]
    bench: Callable[[list[str]], object]
    hook: Callable[[list[str]], object]


def add_commands(app: typer.Typer, entry_points: EntryPoints) -> None:
    @app.command()
    def serve(
        *,
        host: Annotated[
            str | None,
            typer.Option("--host", help="Address to listen on (default: RECOLLECT_HOST)."),
        ] = None,
        port: Annotated[
            int | None,
            typer.Option(
                "--port", help="Port to listen on; 0 picks a free one (default: RECOLLECT_PORT)."
            ),
        ] = None,
        ready_file: Annotated[
            Path | None,
            typer.Option(
                "--ready-file", help="Write the address to this file once requests are answered."
            ),
        ] = None,
        as_json: AsJson = False,
    ) -> None:
        """Serve the REST API, the web page and MCP over Postgres until stopped."""
        from recollect.settings import load

        named = {"host": host, "port": port}
        settings = load(**{name: value for name, value in named.items() if value is not None})
        entry_points.serve(settings, ready_file=ready_file, as_json=as_json)

    @app.command()
    def page(
        *,
        port: Annotated[
            int, typer.Option("--port", help="Port to listen on; 0 picks a free one.")
        ] = 0,
        as_json: AsJson = False,
    ) -> None:
        """Open the web page for the local store, on this machine only, until stopped."""
        from recollect.settings import load

        settings = load()
        if settings.mode == "remote":
            raise InvalidInput(
                "your memories are on a server, not in the local store",
                field="RECOLLECT_API_URL",
                remedy=f"Open the server's page at {settings.api_url}.",
            )
        entry_points.page(settings, port=port, as_json=as_json)

    @app.command()
    def worker(
        *,
        once: Annotated[bool, typer.Option("--once", help="Exit when nothing waits.")] = False,
        retry: Annotated[
            bool,
            typer.Option("--retry", help="Also retry what failed, even if it failed too often."),
        ] = False,
        local: Annotated[
            bool,
            typer.Option("--local", help="Work on the local store, not on a server's database."),
        ] = False,
        as_json: AsJson = False,
    ) -> None:
        """Embed memories, fill the concept graph and curate, until stopped.

        It curates if RECOLLECT_CURATION is propose or apply. `serve` includes a worker.
        """
        from recollect.settings import load

        settings = load()
        if not local:
            require_own_database(settings)
        entry_points.worker(settings, once=once, retry=retry, local=local, as_json=as_json)

    @app.command()
    def mcp() -> None:
        """Speak MCP over stdin and stdout until stdin closes."""
        entry_points.mcp()

    app.add_typer(hook.build(entry_points.hook), name="hook")

    @app.command(
        context_settings={
            "allow_extra_args": True,
            "ignore_unknown_options": True,
            "help_option_names": [],
        },
    )
    def bench(context: typer.Context) -> object:
        """Measure recall quality and speed; see `recollect bench --help`."""
        return entry_points.bench(context.args)
