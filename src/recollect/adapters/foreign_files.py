"""Files of other programs, opened and told apart by what is in them.

Nothing is trusted: a line may be endless, an archive may hold more than the disk, a folder may lead
in circles.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Final, Literal, get_args

from recollect.core.errors import InvalidInput
from recollect.core.exchange import FORMAT
from recollect.imports import documents, lines, notes
from recollect.imports.found import Item, Trouble

Format = Literal[
    "recollect", "mcp-memory", "claude", "mem0", "chatgpt", "chatgpt-memories", "markdown"
]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
# Far above the longest memory in its longest writing; what is longer is no line of an export.
_MOST_LINE: Final = 16_000_000
_MOST_DOCUMENT: Final = 2_000_000_000
_CONVERSATIONS: Final = "conversations.json"
_READ_IN_FOLDERS: Final = (".md", ".markdown")


def files_in(path: Path) -> Iterator[Path]:
    """A file, or the Markdown and the ChatGPT export in a folder, in order; hidden folders below it
    and links to folders are left out.
    """
    if not path.is_dir():
        yield path
        return
    for folder, below, names in os.walk(path):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            if name.lower().endswith(_READ_IN_FOLDERS) or name == _CONVERSATIONS:
                file = Path(folder, name)
                # A pipe or a device that nobody named would be waited for without end.
                if os.path.isfile(file) or not os.path.exists(file):  # noqa: PTH110, PTH113  # never raise
                    yield file


def items_of(path: Path, format: Format | None, owner: str, most: int) -> Iterator[Item]:
    """Everything in one file; `most` characters fit into a memory."""
    try:
        with path.open("rb") as file:
            if zipfile.is_zipfile(file):
                yield from _of_archive(file, owner, most)
                return
            file.seek(0)
            yield from _of_stream(file, path, format or _recognised(file, path), owner, most)
    except OSError as error:
        reason = f"it cannot be read ({error.strerror or type(error).__name__})"
        yield Trouble("file", reason, "Check the path and its permissions.")


def _of_archive(file: IO[bytes], owner: str, most: int) -> Iterator[Item]:
    remedy = "Give the archive that ChatGPT sends, or unpack it and name the file."
    try:
        with zipfile.ZipFile(file) as archive:
            found = [one for one in archive.infolist() if Path(one.filename).name == _CONVERSATIONS]
            if not found:
                yield Trouble("file", f"the archive holds no {_CONVERSATIONS}", remedy)
                return
            if found[0].file_size > _MOST_DOCUMENT:
                yield Trouble("file", "what it holds is too large", "Unpack and split it.")
                return
            inside = BytesIO(archive.read(found[0]))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        yield Trouble("file", f"the archive cannot be read ({type(error).__name__})", remedy)
        return
    yield from _of_stream(inside, Path(_CONVERSATIONS), "chatgpt", owner, most)


def _of_stream(
    file: IO[bytes], path: Path, format: Format, owner: str, most: int
) -> Iterator[Item]:
    if format == "recollect":
        yield from lines.own_export(_lines(file), owner)
    elif format in ("claude", "markdown") or (format == "chatgpt-memories" and _is_text(file)):
        yield from _of_text(_text(file), path, format, most)
    elif format == "mcp-memory" and not _is_document(file):
        yield from lines.mcp_graph(_lines(file))
    else:
        yield from _of_document(file, format, most)


def _of_text(text: str, path: Path, format: Format, most: int) -> Iterator[Item]:
    if format == "chatgpt-memories":
        yield from notes.plain_lines(text, most)
    elif format == "markdown":
        yield from notes.markdown(text, most)
    elif path.name.lower().startswith("claude"):
        yield from notes.claude_rules(text, most)
    else:
        yield from notes.claude_memory(text, most)


def _of_document(file: IO[bytes], format: Format, most: int) -> Iterator[Item]:
    document, several = _document(file)
    if document is None and several is None:
        yield Trouble("file", "it is not JSON", "Correct it, or name its format with --format.")
    elif format == "mcp-memory" and isinstance(document, dict):
        yield from documents.graph(document)
    elif format == "chatgpt":
        yield from documents.conversations(document if several is None else several, most)
    else:
        tag = "chatgpt" if format == "chatgpt-memories" else "mem0"
        yield from documents.memory_list(document if several is None else several, tag)


def _recognised(file: IO[bytes], path: Path) -> Format:
    """The format by content; where that leaves a choice, by the name."""
    head = file.read(65_536).removeprefix(b"\xef\xbb\xbf").lstrip()
    file.seek(0)
    if head[:1] not in (b"{", b"["):
        name = path.name.lower()
        is_memory = path.parent.name == "memory" or name == "memory.md"
        is_claudes = name.startswith("claude") and name.endswith(".md")
        return "claude" if is_memory or is_claudes else "markdown"
    try:
        first = json.loads(head.split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        first = None
    if isinstance(first, dict) and first.get("format") == FORMAT:
        return "recollect"
    if isinstance(first, dict) and first.get("type") in ("entity", "relation"):
        return "mcp-memory"
    document, several = _document(file)
    return _format_of(document if several is None else several)


def _format_of(document: Any) -> Format:  # noqa: ANN401  # a JSON value
    if isinstance(document, dict) and ("entities" in document or "relations" in document):
        return "mcp-memory"
    if isinstance(document, dict) and "mapping" in document:
        return "chatgpt"
    listed = documents.entries(document) or []
    first = next((one for one in listed if isinstance(one, dict)), {})
    if "mapping" in first:
        return "chatgpt"
    if "memory" in first:
        return "mem0"
    if document is None or not listed:
        raise InvalidInput(
            "the format cannot be told from the content",
            field="format",
            remedy=f"Name it with --format: {', '.join(FORMATS)}.",
        )
    return "chatgpt-memories"


def _document(file: IO[bytes]) -> tuple[Any, list[Any] | None]:
    """A JSON document; or, where there is one a line, all of them."""
    file.seek(0)
    text = file.read(_MOST_DOCUMENT).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    file.seek(0)
    try:
        return json.loads(text), None
    except (ValueError, RecursionError):
        pass
    found: list[Any] = []
    try:
        found.extend(json.loads(line) for line in text.split("\n") if line.strip())
    except (ValueError, RecursionError):
        return None, None
    return None, found


def _is_document(file: IO[bytes]) -> bool:
    """Whether the graph is one document, as the server's tool answers, and not one a line."""
    head = file.read(65_536)
    file.seek(0)
    return b'"entities"' in head or b'"relations"' in head


def _is_text(file: IO[bytes]) -> bool:
    head = file.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip()
    file.seek(0)
    return head[:1] not in (b"{", b"[")


def _text(file: IO[bytes]) -> str:
    """Broken UTF-8 is marked, so that only the statement that holds it is refused."""
    return file.read(_MOST_DOCUMENT).decode("utf-8", "surrogateescape")


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes | None]]:
    number = 0
    while line := file.readline(_MOST_LINE):
        number += 1
        if len(line) < _MOST_LINE or line.endswith(b"\n"):
            yield number, line
            continue
        while (rest := file.readline(_MOST_LINE)) and not rest.endswith(b"\n"):
            pass
        yield number, None
