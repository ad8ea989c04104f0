"""`recollect hook`: the help for the commands that agents run, and their log.

Agents do not use this module: `main` calls the hooks directly, without importing the command line.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Annotated, Final

from recollect.shells.cli.framework.commands import Command, Group, Option
from recollect.shells.cli.framework.options import AsJson
from recollect.shells.cli.framework.output import print_json, show

AsText = Annotated[bool, Option("--text", help="Print plain text instead of the hook's JSON.")]
_LINES: Final = 10
_HELP: Final = {
    "recall": "Before each prompt: print the memories it needs, within the time budget.",
    "brief": "When a session starts: print the project's most important memories.",
    "capture": "When an answer ends: store what will matter later, in the background.",
    "compact": "Before a compaction: store what would be lost; `brief` then brings it back.",
}


def _command(name: str, help: str) -> Command:
    def run_hook(*, as_text: AsText = False) -> None:
        from recollect.shells.hooks.run import run

        run([name, "--text"] if as_text else [name])

    return Command(run_hook, help)


hook_app = Group(
    "Hooks for agents. Each reads an event as JSON from stdin and always exits with 0.",
    {name: _command(name, help) for name, help in _HELP.items()},
)


@hook_app.command("status")
def status(*, as_json: AsJson = False) -> None:
    """Show how many memories were captured today, the daily limit, and the end of the log."""
    from recollect.settings import load
    from recollect.wiring.hooks import open_hook_files, open_hook_log

    settings = load()
    used = open_hook_files(os.environ).daily_count(datetime.now(UTC).date()).used()
    lines = open_hook_log(os.environ).last_lines(_LINES)
    if as_json:
        print_json(
            {
                "capture": settings.capture,
                "captured_today": used,
                "daily_cap": settings.capture_daily,
                "budget_ms": settings.hook_budget_ms,
                "log": lines,
            }
        )
        return
    show(f"captured today: {used} of {settings.capture_daily} (capture is {settings.capture})")
    show(f"recall budget: {settings.hook_budget_ms} ms")
    for line in lines:
        show(line)
