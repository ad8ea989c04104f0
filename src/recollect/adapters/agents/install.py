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
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

from recollect.adapters.agents import json_entries
from recollect.adapters.agents.clients import CLIENTS, Client, Machine, Scope, Slot, System, slots
from recollect.adapters.agents.command import NAME, Command
from recollect.adapters.agents.files import Edited, backups, edit, read
from recollect.core.errors import Conflict, RecollectError

# installed: everything is there; partly: some of it; stale: it starts a missing program; absent:
# nothing is there; plugin: the client runs the plugin instead; twice: another file or the plugin
# runs the hooks, too; unclear: a file cannot be parsed, or the name is taken.
Status = Literal["installed", "partly", "stale", "absent", "plugin", "twice", "unclear"]

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
    """Add it; existing entries are not written again."""
    other = _find_other_hooks(client, machine, scope)
    if other is not None:
        raise Conflict(
            f"{other[1]} already runs the hooks, and every hook would run twice",
            remedy=f"Nothing needs to be installed. To move them, run `recollect install "
            f"{client.name} --scope {other[0]} --uninstall` first.",
        )
    if _has_plugin(client, machine):
        raise Conflict(
            "Claude Code already runs the Recollect plugin, and every hook would run twice",
            remedy="Nothing needs to be installed. To replace the plugin, run `claude plugin "
            "uninstall recollect` first.",
        )
    parts = slots(client, machine, scope)
    edits = _edit_all([(slot, partial(_put, slot, command)) for slot in parts])
    return [_tidy_backups(edited, slot) for edited, slot in zip(edits, parts, strict=True)]


def uninstall(client: Client, machine: Machine, scope: Scope) -> list[Edited]:
    """Remove it; everything else in the files stays. A file that held nothing else, and that there
    is no backup of, was created by `install`: it is removed with its folder, if that is empty.
    """
    parts = slots(client, machine, scope)
    edits = _edit_all([(slot, partial(_take, slot)) for slot in parts])
    for edited in edits:
        folder = edited.path.parent
        if (
            edited.changed
            and not edited.path.exists()
            and folder not in (Path(machine.home), Path(machine.folder))
        ):
            with suppress(OSError):  # not empty
                folder.rmdir()
    return [_tidy_backups(edited, slot) for edited, slot in zip(edits, parts, strict=True)]


def files_with_entries(client: Client, machine: Machine, scope: Scope) -> list[Path]:
    """Those of the client's files that start Recollect."""
    paths = [(slot, Path(slot.path)) for slot in slots(client, machine, scope)]
    return [path for slot, path in paths if slot.take(text := read(path)) != text]


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
    status, detail = _status(client, machine, scope)
    return Installed(name, scope, status, is_found, files, detail)


def _status(client: Client, machine: Machine, scope: Scope) -> tuple[Status, str]:
    parts = slots(client, machine, scope)
    has_plugin, other = _has_plugin(client, machine), _find_other_hooks(client, machine, scope)
    try:
        runs = [slot.runs(read(Path(slot.path))) for slot in parts]
    except RecollectError as error:
        return ("plugin", "the plugin is enabled") if has_plugin else ("unclear", str(error))
    has_hooks = any(
        words is not None and slot.what == "hooks" for slot, words in zip(parts, runs, strict=True)
    )
    if has_hooks and (has_plugin or other is not None):
        who = "the plugin" if other is None else str(other[1])
        return "twice", f"{who} runs the hooks, too"
    if has_plugin:
        return "plugin", "the plugin is enabled"
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


def _find_other_hooks(client: Client, machine: Machine, scope: Scope) -> tuple[Scope, Path] | None:
    """The other scope whose settings run the hooks already, and its file."""
    ours = {slot.path for slot in slots(client, machine, scope)}
    for other in client.scopes:
        for slot in slots(client, machine, other):
            if slot.what != "hooks" or slot.path in ours:
                continue
            # A file that cannot be parsed is reported when it is the one to change.
            with suppress(RecollectError):
                text = read(Path(slot.path))
                if slot.take(text) != text:
                    return other, Path(slot.path)
    return None


def _put(slot: Slot, command: Command, text: str) -> str:
    return slot.put(text, command)


def _take(slot: Slot, text: str) -> str | None:
    rest = slot.take(text)
    return None if _is_all_ours(slot, text) and not backups(Path(slot.path)) else rest


def _is_all_ours(slot: Slot, text: str) -> bool:
    """Whether the text holds our entries and nothing else."""
    try:
        rest = slot.take(text)
    except RecollectError:
        return False
    return rest != text and _squeeze(rest) in ("", "{}")


def _squeeze(text: str) -> str:
    return "".join(text.split())


def _tidy_backups(edited: Edited, slot: Slot) -> Edited:
    """Keep the newest backup that holds more than our own entries, and none of a file that is as it
    was before.
    """
    if not edited.changed:
        return edited
    texts = {backup: read(backup) for backup in backups(edited.path)}
    useful = [backup for backup, text in texts.items() if not _is_all_ours(slot, text)]
    is_restored = _squeeze(read(edited.path)) in map(_squeeze, texts.values())
    kept = None if is_restored or not useful else useful[-1]
    for backup in {*texts} - {kept}:
        backup.unlink()
    return replace(edited, backup=kept)


def _edit_all(changes: list[tuple[Slot, Callable[[str], str | None]]]) -> list[Edited]:
    named = [
        (Path(slot.path), partial(_name_file_in_errors, Path(slot.path), change))
        for slot, change in changes
    ]
    for path, change in named:
        change(read(path))
    return [edit(path, change) for path, change in named]


def _name_file_in_errors(path: Path, change: Callable[[str], str | None], text: str) -> str | None:
    """The change, with the file's name in its errors."""
    try:
        return change(text)
    except RecollectError as error:
        error.args = (f"{path}: {error}",)
        raise
