"""The commands of `recollect` and their modules: each is imported only when it runs."""

from __future__ import annotations

import gc
from typing import Annotated, Final, NoReturn

from recollect import __version__
from recollect.shells.cli.framework.commands import Command, Group, Option, Plugin
from recollect.shells.cli.framework.exit import MEANINGS
from recollect.shells.cli.framework.output import show
from recollect.shells.cli.framework.parser import invoke, show_usage
from recollect.shells.cli.framework.shell import finish, has_option, survive_any_locale

NAME: Final = "recollect"
_COMMANDS: Final = {
    "remember": "memory.memories:remember",
    "recall": "recall.recall:recall",
    "why": "recall.recall:why",
    "list": "memory.listing:list_memories",
    "show": "memory.memories:show_memory",
    "update": "memory.memories:update",
    "forget": "memory.memories:forget",
    "link": "memory.link:link",
    "unlink": "memory.link:unlink",
    "history": "memory.history:history",
    "review": "curation.review:review",
    "proposals": "curation.review:proposals",
    "undo": "curation.review:undo",
    "audit": "admin.audit:audit",
    "erase": "admin.erase:erase",
    "backup": "admin.backup:backup",
    "restore": "memory.history:restore",
    "export": "memory.export:export",
    "import": "memory.import_:import_memories",
    "memory-tool": "agents.memory_tool:memory_tool",
    "status": "admin.status:status",
    "sync": "sync.sync:sync",
    "doctor": "admin.status:doctor",
    "install": "agents.install:install",
    "uninstall": "agents.install:uninstall",
    "reembed": "admin.embedding:reembed",
    "serve": "admin.servers:serve",
    "page": "admin.servers:page",
    "worker": "admin.servers:worker",
    "mcp": "admin.servers:mcp",
    "conflicts": "sync.sync:conflicts_app",
    "models": "admin.embedding:models_app",
    "project": "memory.projects:project_app",
    "graph": "graph.commands:graph_app",
    "settings": "recall.settings:settings_app",
    "keys": "admin.keys:keys_app",
    "database": "admin.servers:database_app",
    "hook": "agents.hook:hook_app",
}


def _load_bench() -> Command:
    """Load the command of the benchmark, a separate distribution that registers it."""
    from importlib.metadata import entry_points

    from recollect.core.admin.checks import how_to_install
    from recollect.core.errors import RecollectError

    installed = [*entry_points(group="recollect.commands", name="bench")]
    if not installed:
        raise RecollectError("the benchmark is not installed", remedy=how_to_install("bench"))
    gc.enable()
    command: Command = installed[0].load()
    return command


ROOT: Final = Group(
    "Long-term memory for AI agents, in the local store or on the server set in RECOLLECT_API_URL.",
    {
        **{name: f"recollect.shells.cli.{place}" for name, place in _COMMANDS.items()},
        "bench": Plugin(
            "Measure recall quality and speed; see `recollect bench --help`.", _load_bench
        ),
    },
    epilog="Exit codes:\n" + "\n".join(f"  {code:>3}  {text}" for code, text in MEANINGS.items()),
)


@ROOT.default
def _start(
    *,
    version: Annotated[bool, Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        show(f"{NAME} {__version__}")
    else:
        show_usage(ROOT, NAME)


def run(arguments: list[str]) -> NoReturn:
    survive_any_locale()
    finish(lambda: invoke(ROOT, arguments, NAME), as_json=has_option(arguments, "--json"))
