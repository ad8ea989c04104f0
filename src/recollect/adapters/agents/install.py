"""Add Recollect to a client's settings, remove it, and report whether it is there.

All of a client's files are read before the first is changed: a file that cannot be parsed leaves
every one of them unchanged.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

from recollect.adapters.agents import json_entries
from recollect.adapters.agents.clients import CLIENTS, Client, Machine, Scope, Slot, System, slots
from recollect.adapters.agents.command import NAME, Command
from recollect.adapters.agents.files import Edited, edit, read
from recollect.core.errors import Conflict, RecollectError

# installed: everything is there; partly: some of it; stale: it starts a missing program; absent:
# nothing is there; plugin: the client runs the plugin instead; unclear: a file cannot be parsed, or
# the name is taken.
Status = Literal["installed", "partly", "stale", "absent", "plugin", "unclear"]

_SYSTEMS: Final[dict[str, System]] = {"darwin": "darwin", "win32": "windows"}


@dataclass(frozen=True, slots=True)
class Installed:
    """Whether Recollect is in a client's settings. `is_found`: the client seems to be installed."""

    client: str
    scope: Scope
    status: Status
    is_found: bool
    files: tuple[Path, ...]
    detail: str = ""


def this_machine() -> Machine:
    system = _SYSTEMS.get(sys.platform, "linux")
    return Machine(system, Path.home(), Path.cwd(), dict(os.environ))


def this_command(scope: Scope) -> Command:
    """Return how clients start Recollect. A project's command must work on every machine."""
    if scope == "project":
        return Command(NAME)
    suffix = ".exe" if sys.platform == "win32" else ""
    script = Path(sys.executable).parent / f"{NAME}{suffix}"
    if not script.exists():
        found = shutil.which(NAME)
        return Command(found) if found else Command(sys.executable, ("-m", "recollect.main"))
    # A link in a `bin` folder survives an upgrade; the environment behind it may not.
    for link in (shutil.which(NAME), sys.argv[0]):
        if link and os.path.exists(link) and os.path.samefile(link, script):  # noqa: PTH110, PTH121
            return Command(os.path.abspath(link))  # noqa: PTH100  # `resolve` would follow the link
    return Command(str(script))


def install(client: Client, machine: Machine, scope: Scope, command: Command) -> list[Edited]:
    """Add Recollect; existing entries are not rewritten."""
    if _has_plugin(client, machine):
        raise Conflict(
            "Claude Code already runs the Recollect plugin, and every hook would run twice",
            remedy="Nothing needs to be installed. To replace the plugin, run `claude plugin "
            "uninstall recollect` first.",
        )
    return _edit_all(
        [(slot, partial(_put, slot, command)) for slot in slots(client, machine, scope)]
    )


def uninstall(client: Client, machine: Machine, scope: Scope) -> list[Edited]:
    """Remove Recollect; everything else in the files stays."""
    return _edit_all([(slot, slot.take) for slot in slots(client, machine, scope)])


def preview(
    client: Client, machine: Machine, scope: Scope, command: Command
) -> list[tuple[Path, str, str]]:
    """Return for each file its path, what is added, and the entry as text."""
    return [
        (Path(slot.path), slot.what, slot.put("", command))
        for slot in slots(client, machine, scope)
    ]


def read_installation(
    name: str, machine: Machine | None = None, scope: Scope = "user"
) -> Installed:
    """Report whether Recollect is in this client's settings. Changes nothing and never raises."""
    machine = machine or this_machine()
    client = CLIENTS[name]
    parts = slots(client, machine, scope)
    files = tuple(Path(slot.path) for slot in parts)
    is_found = any(file.exists() for file in files) or files[0].parent.is_dir()
    status, detail = _status(client, machine, parts)
    return Installed(name, scope, status, is_found, files, detail)


def _status(client: Client, machine: Machine, parts: tuple[Slot, ...]) -> tuple[Status, str]:
    try:
        if _has_plugin(client, machine):
            return "plugin", "the plugin is enabled"
        runs = [slot.runs(read(Path(slot.path))) for slot in parts]
    except RecollectError as error:
        return "unclear", str(error)
    present = [words for words in runs if words is not None]
    if not present:
        return "absent", ""
    missing_programs = [words[0] for words in present if not _can_run(words[0])]
    if missing_programs:
        return "stale", f"the program {missing_programs[0]} does not exist"
    if len(present) < len(parts):
        missing = [slot.what for slot, words in zip(parts, runs, strict=True) if words is None]
        return "partly", f"the {' and the '.join(missing)} is missing"
    return "installed", present[0][0]


def _can_run(program: str) -> bool:
    return shutil.which(program) is not None


def _has_plugin(client: Client, machine: Machine) -> bool:
    if client.name != "claude-code":
        return False
    for scope in client.scopes:
        # A file that cannot be parsed is reported when it is the one to change.
        with suppress(RecollectError):
            if json_entries.has_plugin(read(Path(slots(client, machine, scope)[0].path))):
                return True
    return False


def _put(slot: Slot, command: Command, text: str) -> str:
    return slot.put(text, command)


def _edit_all(changes: list[tuple[Slot, Callable[[str], str]]]) -> list[Edited]:
    named = [
        (Path(slot.path), partial(_name_file_in_errors, Path(slot.path), change))
        for slot, change in changes
    ]
    for path, change in named:
        change(read(path))
    return [edit(path, change) for path, change in named]


def _name_file_in_errors(path: Path, change: Callable[[str], str], text: str) -> str:
    """Apply the change, and add the file's name to its errors."""
    try:
        return change(text)
    except RecollectError as error:
        error.args = (f"{path}: {error}",)
        raise
