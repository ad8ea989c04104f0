"""The `recollect` command. Each command's module imports its dependencies late."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect import __version__
from recollect.shells.cli.admin import audit as auditing
from recollect.shells.cli.admin import backup as backups
from recollect.shells.cli.admin import database, doctor, embedding, keys
from recollect.shells.cli.admin import erase as erasing
from recollect.shells.cli.admin.entry_points import EntryPoints, add_commands
from recollect.shells.cli.agents import install as installing
from recollect.shells.cli.agents import memory_tool
from recollect.shells.cli.framework.direct import load
from recollect.shells.cli.framework.errors import ExitCode
from recollect.shells.cli.framework.group import EXIT_CODES, Shell
from recollect.shells.cli.framework.output import note, show
from recollect.shells.cli.framework.typed import Commands
from recollect.shells.cli.graph import commands as graph
from recollect.shells.cli.memory import export as exporting
from recollect.shells.cli.memory import import_ as importing
from recollect.shells.cli.recall import settings as tuning
from recollect.shells.cli.sync import sync as syncing


def build(entry_points: EntryPoints) -> typer.Typer:
    """Build every command: those of this shell, and the entry points of the others."""
    app = Commands(
        name="recollect",
        cls=Shell,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Long-term memory for AI agents, in the local store or on the server set in "
        "RECOLLECT_API_URL.",
        epilog=EXIT_CODES,
    )
    app.callback(invoke_without_command=True)(_options)
    app.command("remember")(load("remember"))
    app.command("recall")(load("recall"))
    app.command("why")(load("why"))
    app.command("list")(load("list"))
    app.command("show")(load("show"))
    app.command("update")(load("update"))
    app.command("forget")(load("forget"))
    app.command("link")(load("link"))
    app.command("unlink")(load("unlink"))
    app.command("history")(load("history"))
    app.command("review")(load("review"))
    app.command("proposals")(load("proposals"))
    app.command("undo")(load("undo"))
    app.command("audit")(auditing.audit)
    app.command("erase")(erasing.erase)
    app.command("backup")(backups.backup)
    app.command("restore")(load("restore"))
    app.command("export")(exporting.export)
    app.command("import")(importing.import_memories)
    app.command("memory-tool")(memory_tool.memory_tool)
    app.command("status")(load("status"))
    app.command("sync")(syncing.sync)
    app.add_typer(syncing.conflicts_app, name="conflicts")
    app.command("doctor")(doctor.doctor)
    app.command("install")(installing.install)
    app.command("reembed")(embedding.reembed)
    app.add_typer(embedding.models_app, name="models")
    app.add_typer(graph.graph_app, name="graph")
    app.add_typer(tuning.settings_app, name="settings")
    app.add_typer(keys.keys_app, name="keys")
    app.add_typer(database.database_app, name="database")
    add_commands(app, entry_points)
    return app


def _options(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        show(f"recollect {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        note(context.get_help())
        raise typer.Exit(ExitCode.INVALID)
