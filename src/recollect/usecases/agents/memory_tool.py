"""Anthropic's memory tool on the same store: each file is an ordinary memory.

The mapping is the simplest that loses nothing: the file's text is the memory's content, its path is
a tag, and a second tag marks the memory as a file. So a file shows up in recall, listings, sync and
exports like any other memory, and editing the memory edits the file. Directories are not stored:
they exist while a file is in them. Two limits follow: a file is not empty and has no blank lines at
its ends, and it is no longer than a memory may be.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from recollect.core.agents.memory_files import (
    FilePath,
    Refused,
    file_path,
    file_view,
    insert_text,
    listing,
    replace_text,
)
from recollect.core.errors import Conflict, NotFound, RecollectError
from recollect.core.memory.ids import uuid7
from recollect.core.memory.listing import MAX_PAGE
from recollect.core.memory.memory import Changes, Draft, Memory, Scope
from recollect.ports.service import Service

FILE_TAG: Final = "memory-file"
# Two agents that happen to edit the same file both succeed.
_ATTEMPTS: Final = 5

Input = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer for the model."""

    text: str
    is_error: bool = False


async def memory_tool(
    recollect: Service, command: Input, *, project: str | None = None
) -> ToolAnswer:
    """Run one command of the tool. Each project has its own directory of files, and so do memories
    without a project. Errors are returned to the model, never raised.
    """
    name = command.get("command")
    work = _COMMANDS.get(name) if isinstance(name, str) else None
    if work is None:
        known = ", ".join(_COMMANDS)
        return ToolAnswer(f"Error: Unknown command. The commands are: {known}.", is_error=True)
    try:
        for attempt in range(_ATTEMPTS):
            try:
                return ToolAnswer(await work(_Files(recollect, project), command))
            except (Conflict, NotFound):
                # Another writer was faster: start again from the current state.
                if attempt == _ATTEMPTS - 1:
                    raise
    except Refused as refused:
        return ToolAnswer(str(refused), is_error=True)
    except RecollectError as error:
        return ToolAnswer(f"Error: {error}. {error.remedy}", is_error=True)
    raise AssertionError("every attempt returns or raises")


@dataclass(frozen=True, slots=True)
class _Files:
    """The memories of one project that are files."""

    recollect: Service
    project: str | None

    async def all(self) -> dict[FilePath, list[Memory]]:
        """Return every file; if two machines created the same one, the oldest comes first."""
        return await self._list_tagged(FILE_TAG)

    async def at(self, path: FilePath) -> list[Memory]:
        return (await self._list_tagged(FILE_TAG, path.text)).get(path, [])

    async def _list_tagged(self, *tags: str) -> dict[FilePath, list[Memory]]:
        scope = Scope(project=self.project, tags=tags, with_global=self.project is None)
        found: dict[FilePath, list[Memory]] = {}
        cursor: str | None = None
        while True:
            page = await self.recollect.page(scope, cursor, MAX_PAGE)
            for memory in page.memories:
                if (path := _path_of(memory)) is not None:
                    found.setdefault(path, []).insert(0, memory)
            cursor = page.next_cursor
            if cursor is None:
                return found


def _path_of(memory: Memory) -> FilePath | None:
    for tag in memory.tags:
        try:
            path = file_path(tag)
        except Refused:
            continue
        if path.text == tag and not path.is_root:
            return path
    return None


async def _view(files: _Files, command: Input) -> str:
    path = file_path(command.get("path"))
    if there := await files.at(path):
        return file_view(path, there[0].content, command.get("view_range"))
    known = await files.all()
    if not path.is_root and not any(path.holds(file) for file in known):
        raise Refused(f"The path {path.text} does not exist. Please provide a valid path.")
    sizes = {file: len(memories[0].content.encode()) for file, memories in known.items()}
    return listing(path, sizes)


async def _create(files: _Files, command: Input) -> str:
    path = file_path(command.get("path"))
    text = _require_text(command, "file_text")
    known = await files.all()
    if path.is_root or path in known or any(path.holds(file) for file in known):
        raise Refused(f"Error: File {path.text} already exists")
    _check_no_file_above(path, known)
    # An explicit id prevents deduplication: two files may contain the same text.
    draft = Draft(
        text,
        category="note",
        tags=(FILE_TAG, path.text),
        project=files.project,
        id=uuid7(datetime.now(UTC), os.urandom(10)),
    )
    await files.recollect.remember(draft)
    return f"File created successfully at: {path.text}"


async def _str_replace(files: _Files, command: Input) -> str:
    path = file_path(command.get("path"))
    there = await files.at(path)
    if not there:
        raise Refused(f"Error: The path {path.text} does not exist. Please provide a valid path.")
    new = command.get("new_str")
    content, message = replace_text(
        path,
        there[0].content,
        _require_text(command, "old_str"),
        new if isinstance(new, str) else "",
    )
    await _write(files, there[0], Changes(content=content))
    return message


async def _insert(files: _Files, command: Input) -> str:
    path = file_path(command.get("path"))
    there = await files.at(path)
    if not there:
        raise Refused(f"Error: The path {path.text} does not exist")
    content = insert_text(
        there[0].content, command.get("insert_line"), _require_text(command, "insert_text")
    )
    await _write(files, there[0], Changes(content=content))
    return f"The file {path.text} has been edited."


async def _delete(files: _Files, command: Input) -> str:
    path = file_path(command.get("path"))
    if path.is_root:
        raise Refused(f"Error: The directory {path.text} itself cannot be deleted")
    gone = [
        memory
        for file, memories in (await files.all()).items()
        if file == path or path.holds(file)
        for memory in memories
    ]
    if not gone:
        raise Refused(f"Error: The path {path.text} does not exist")
    for memory in gone:
        await files.recollect.forget(str(memory.id))
    return f"Successfully deleted {path.text}"


async def _rename(files: _Files, command: Input) -> str:
    old, new = file_path(command.get("old_path")), file_path(command.get("new_path"))
    known = await files.all()
    moving = {file: them for file, them in known.items() if file == old or old.holds(file)}
    if not moving or old.is_root:
        raise Refused(f"Error: The path {old.text} does not exist")
    if new.is_root or new in known or any(new.holds(file) for file in known):
        raise Refused(f"Error: The destination {new.text} already exists")
    if old.holds(new):
        raise Refused(f"Error: The path {old.text} cannot be moved into itself")
    _check_no_file_above(new, known.keys() - moving.keys())
    # Every new path is checked before the first file moves.
    moves = [
        (memory, file, file_path(file.moved(old, new).text))
        for file, memories in moving.items()
        for memory in memories
    ]
    for memory, before, after in moves:
        tags = tuple(after.text if tag == before.text else tag for tag in memory.tags)
        with suppress(NotFound):  # deleted concurrently: the others still move
            await files.recollect.update(str(memory.id), Changes(tags=tags))
    return f"Successfully renamed {old.text} to {new.text}"


async def _write(files: _Files, memory: Memory, changes: Changes) -> None:
    await files.recollect.update(str(memory.id), changes, based_on=memory.version)


def _check_no_file_above(path: FilePath, known: Mapping[FilePath, object] | set[FilePath]) -> None:
    for file in known:
        if file.holds(path):
            raise Refused(f"Error: {file.text} is a file, and nothing can be put below it")


def _require_text(command: Input, name: str) -> str:
    text = command.get(name)
    if not isinstance(text, str):
        raise Refused(f"Error: `{name}` is missing, or is not a text.")
    return text


_COMMANDS: Final[Mapping[str, Callable[[_Files, Input], Awaitable[str]]]] = {
    "view": _view,
    "create": _create,
    "str_replace": _str_replace,
    "insert": _insert,
    "delete": _delete,
    "rename": _rename,
}
