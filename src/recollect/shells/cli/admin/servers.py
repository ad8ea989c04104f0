"""The commands of a server: those that run until they are stopped, and that for its database.

Each imports its shell only when it runs. Long-running commands turn on garbage collection, which
`main` turns off for short ones.
"""

from __future__ import annotations

import gc
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from recollect.core.admin.distribution import DEFAULT_SHARDS
from recollect.core.errors import InvalidInput
from recollect.shells.cli.framework.commands import Group, Option
from recollect.shells.cli.framework.options import AsJson
from recollect.shells.cli.framework.output import print_json, show
from recollect.shells.cli.framework.shell import require_own_database


def serve(
    *,
    host: Annotated[
        str | None,
        Option("--host", help="Address to listen on (default: RECOLLECT_HOST)."),
    ] = None,
    port: Annotated[
        int | None,
        Option("--port", help="Port to listen on; 0 picks a free one (default: RECOLLECT_PORT)."),
    ] = None,
    ready_file: Annotated[
        Path | None,
        Option("--ready-file", help="Write the address to this file once requests are answered."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Serve the REST API, the web page and MCP over Postgres until stopped."""
    from recollect.settings import load
    from recollect.shells.serve import run

    named = {"host": host, "port": port}
    settings = load(**{name: value for name, value in named.items() if value is not None})
    gc.enable()
    run(settings, ready_file=ready_file, as_json=as_json)


def page(
    *,
    port: Annotated[int, Option("--port", help="Port to listen on; 0 picks a free one.")] = 0,
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
    from recollect.shells.serve import run_page

    gc.enable()
    run_page(settings, port=port, as_json=as_json)


def worker(
    *,
    once: Annotated[bool, Option("--once", help="Exit when nothing waits.")] = False,
    retry: Annotated[
        bool, Option("--retry", help="Also retry what failed, even if it failed too often.")
    ] = False,
    local: Annotated[
        bool, Option("--local", help="Work on the local store, not on a server's database.")
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
    from recollect.shells.worker import run

    gc.enable()
    run(settings, once=once, retry=retry, local=local, as_json=as_json)


def mcp() -> None:
    """Speak MCP over stdin and stdout until stdin closes."""
    from recollect.shells.mcp.stdio import run

    run()


database_app = Group("Manage the server's database.")


@database_app.command("distribute")
def distribute(
    *,
    shards: Annotated[
        int,
        Option(
            "--shards", min=1, help="Number of shards of each table; owners are divided among them."
        ),
    ] = DEFAULT_SHARDS,
    as_json: AsJson = False,
) -> None:
    """Distribute the tables over the nodes of a Citus cluster, by owner. Run it again to continue
    after an error, or after adding a table.
    """
    from recollect.settings import load
    from recollect.shells.progress import step_bar
    from recollect.wiring.postgres import distribute_database

    with step_bar() as step:
        found = distribute_database(load(), shards, step)
    if as_json:
        print_json({**asdict(found), "is_complete": found.is_complete})
    else:
        show(str(found))
