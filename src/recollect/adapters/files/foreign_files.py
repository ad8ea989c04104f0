"""Open files of other programs, and recognise their formats by their content.

Nothing is trusted: a line may be endless, an archive may hold more than the disk, a folder may
contain loops.
"""

from __future__ import annotations

import importlib
import logging
import os
import stat
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path, PurePath
from typing import IO, Final

from recollect.adapters.files.repository import repository_project
from recollect.core.admin.checks import how_to_install
from recollect.core.imports import claude, json_exports, lines, notes, records
from recollect.core.imports.detect import (
    FORMATS,
    STDIN,
    Format,
    Recognised,
    document_of,
    is_json,
    is_pdf,
    not_a_text,
    recognise,
    recognise_lines,
)
from recollect.core.imports.found import ImportProblem, Item

# Far above the longest memory in its longest notation; a longer line is not from an export.
_MAX_LINE: Final = 16_000_000
# A document is read as a whole; as Python objects it takes several times its size.
_MAX_DOCUMENT: Final = 500_000_000
# Archives compress text five to ten times, and a run of one character a thousand times.
_MAX_RATIO: Final = 100
_MIN_SUSPECT_BYTES: Final = 10_000_000
_HEAD: Final = 65_536
# The files in an archive or a folder that a chat program exported.
_EXPORTED: Final = ("conversations.json", "memories.json")
_PROJECTS: Final = "projects.json"
_MARKDOWN: Final = (".md", ".markdown")
_MIGHT_HOLD_MEMORIES: Final = (".jsonl", ".json", ".csv", ".tsv", ".txt")
# The files of a folder that are read when a format is named.
_SUFFIXES: Final[dict[Format, tuple[str, ...]]] = {
    "recollect": (".jsonl",),
    "jsonl": (".jsonl", ".json"),
    "csv": (".csv", ".tsv"),
    "lines": (".txt",),
    "markdown": _MARKDOWN,
    "document": (*_MARKDOWN, ".txt", ".pdf"),
    "claude": _MARKDOWN,
    "claude-ai": _EXPORTED,
    "claude-code": (".jsonl",),
    "chatgpt": _EXPORTED[:1],
    "chatgpt-memories": (".json", ".txt"),
    "mem0": (".json", ".jsonl"),
    "mcp-memory": (".json", ".jsonl"),
    "mcp-memory-service": (".json",),
    "basic-memory": _MARKDOWN,
}


_NOT_A_FILE: Final = "Name a file, or send the content to stdin and name `-`."
_TOO_LARGE: Final = ImportProblem(
    "file", "its content is too large", f"Unpack it and split it, below {_MAX_DOCUMENT:,} bytes."
)


class _TooLarge(Exception):
    """The content does not fit in memory."""


def files_in(path: Path, format: Format | None = None) -> Iterator[tuple[Path, bool]]:
    """Yield a file, or the files of a folder in order: Markdown, exports of chat programs, and JSON
    Lines whose format is certain; with a named format, its files. Each comes with whether to read
    it: other files that might contain memories are not read, so that the caller can report them.
    Hidden subfolders and links to folders are skipped.
    """
    if path == STDIN or not path.is_dir():
        yield path, True
        return
    for folder, below, names in os.walk(path):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            file = Path(folder, name)
            is_regular = os.path.isfile(file) or not os.path.exists(file)  # noqa: PTH110, PTH113  # never raise
            if not is_regular:
                continue
            if _belongs(file, format):
                yield file, not _is_empty(file)
            elif format is None and name.lower().endswith(_MIGHT_HOLD_MEMORIES):
                yield file, False


def _is_empty(file: Path) -> bool:
    try:
        return file.stat().st_size == 0
    except OSError:
        return False  # reading it reports what is wrong


def _belongs(file: Path, format: Format | None) -> bool:
    name = file.name.lower()
    if format is not None:
        return name.endswith(_SUFFIXES[format])
    return name.endswith(_MARKDOWN) or name in _EXPORTED or _is_certain(file)


def _is_certain(file: Path) -> bool:
    """Return whether the format is certain. Other JSON Lines in a folder may be anything, such as
    data sets, and must be named one by one.
    """
    if not file.name.endswith(".jsonl"):
        return False
    try:
        with file.open("rb") as opened:
            found = recognise_lines(opened.read(_HEAD))
    except OSError:
        return False
    return found is not None and found.confidence == "certain" and found.format != "jsonl"


def items_of(
    path: Path, format: Format | None, owner: str, most: int
) -> Iterator[Recognised | Item]:
    """Yield the format a file was recognised as, then everything in it. A memory holds at most
    `most` characters. An archive may contain several files.
    """
    try:
        # A pipe or a device would block forever.
        if path != STDIN and not stat.S_ISREG(path.stat().st_mode):
            yield ImportProblem("file", "it is not a regular file", _NOT_A_FILE)
            return
        with _open(path) as file:
            if zipfile.is_zipfile(file):
                yield from _read_archive(file, format, owner, most)
                return
            file.seek(0)
            yield from _read_file(
                file, path, format, _Reader(owner, most, _read_sibling_projects(path))
            )
    except FileNotFoundError:
        yield ImportProblem("file", "there is no such file", "Check the path; `-` reads stdin.")
    except _TooLarge:
        yield _TOO_LARGE
    except OSError as error:
        reason = f"it could not be read ({error.strerror or type(error).__name__})"
        yield ImportProblem("file", reason, "Check its permissions.")


def _open(path: Path) -> IO[bytes]:
    """Open the file. Stdin is read completely: recognising a format reads twice."""
    return BytesIO(sys.stdin.buffer.read(_MAX_DOCUMENT + 1)) if path == STDIN else path.open("rb")


@dataclass(frozen=True, slots=True)
class _Reader:
    """What reading needs besides the file. `projects` maps the ids of claude.ai's projects to their
    names.
    """

    owner: str
    most: int
    projects: Mapping[str, str]


def _read_archive(
    file: IO[bytes], format: Format | None, owner: str, most: int
) -> Iterator[Recognised | Item]:
    remedy = "Use the archive that ChatGPT or claude.ai sends, or unpack it and name the file."
    try:
        with zipfile.ZipFile(file) as archive:
            names = _read_projects(archive)
            found = [entry for entry in archive.infolist() if _name(entry) in _EXPORTED]
            if not found:
                yield ImportProblem("file", f"the archive contains no {_EXPORTED[0]}", remedy)
            for item in found:
                if item.file_size > min(
                    _MAX_DOCUMENT, _MIN_SUSPECT_BYTES + _MAX_RATIO * item.compress_size
                ):
                    yield _TOO_LARGE
                    continue
                inside = BytesIO(archive.read(item))
                yield from _read_file(
                    inside, Path(_name(item)), format, _Reader(owner, most, names)
                )
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        yield ImportProblem(
            "file", f"the archive could not be read ({type(error).__name__})", remedy
        )


def _name(member: zipfile.ZipInfo) -> str:
    return PurePath(member.filename).name


def _read_projects(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return project names by id: newer exports of claude.ai contain a file for each project."""
    found: dict[str, str] = {}
    for member in archive.infolist():
        path = PurePath(member.filename)
        is_listed = path.name == _PROJECTS or (
            path.parent.name == "projects" and path.suffix == ".json"
        )
        if is_listed and member.file_size < _MAX_LINE:
            found |= claude.project_names(document_of(archive.read(member)))
    return found


def _read_sibling_projects(path: Path) -> dict[str, str]:
    if path.name not in _EXPORTED:
        return {}
    try:
        with path.with_name(_PROJECTS).open("rb") as file:
            return claude.project_names(document_of(file.read(_MAX_LINE)))
    except OSError:
        return {}


def _read_file(
    file: IO[bytes], path: Path, format: Format | None, reader: _Reader
) -> Iterator[Recognised | Item]:
    head = file.read(_HEAD)
    file.seek(0)
    trouble = None if is_pdf(head) else not_a_text(head)
    if trouble is not None:
        yield trouble
        return
    if format is None:
        recognised = recognise(head, path, lambda: document_of(_read_all(file)))
    else:
        recognised = Recognised(format, "named", "--format was given")
    yield recognised
    yield from _read_stream(file, path, recognised.format, reader)


def _read_stream(file: IO[bytes], path: Path, format: Format, reader: _Reader) -> Iterator[Item]:
    most = reader.most
    head = file.read(_HEAD)
    file.seek(0)
    if is_pdf(head):
        yield from _read_pdf(file, path, most)
    elif format == "document":
        yield from notes.document(_decode(file), most, path.stem)
    elif format == "recollect":
        yield from lines.own_export(_read_lines(file), reader.owner)
    elif format == "claude-code":
        yield from claude.claude_code(_read_lines(file), _project_of, most)
    elif format == "csv":
        yield from records.rows(_decode(file), most)
    elif format in ("claude", "markdown", "lines", "basic-memory") or (
        format == "chatgpt-memories" and not is_json(head)
    ):
        yield from _read_text(_decode(file), path, format, most)
    elif format == "mcp-memory" and b'"entities"' not in head and b'"relations"' not in head:
        yield from lines.mcp_graph(_read_lines(file))
    else:
        yield from _read_json(file, format, reader)


def _read_text(text: str, path: Path, format: Format, most: int) -> Iterator[Item]:
    if format == "lines":
        yield from notes.plain_lines(text, most)
    elif format == "chatgpt-memories":
        yield from notes.plain_lines(text, most, ("chatgpt",))
    elif format == "markdown":
        yield from notes.markdown(text, most)
    elif format == "basic-memory":
        yield from notes.basic_memory(text, most, path.stem)
    elif path.name.lower().startswith("claude"):
        yield from notes.claude_rules(text, most)
    else:
        yield from notes.claude_memory(text, most)


def _read_pdf(file: IO[bytes], path: Path, most: int) -> Iterator[Item]:
    try:
        text = read_pdf(file)
    except UnreadablePdf as error:
        yield ImportProblem("file", str(error), error.remedy)
        return
    if not text.strip():
        remedy = "Run it through a program that recognizes text (OCR), such as `ocrmypdf`."
        yield ImportProblem("file", "the PDF contains no text, only images", remedy)
        return
    yield from notes.document(text, most, path.stem)


def _read_json(file: IO[bytes], format: Format, reader: _Reader) -> Iterator[Item]:
    """Read one document or, for formats that allow it, one object per line."""
    document = document_of(_read_all(file), one_per_line=False)
    tag = "chatgpt" if format == "chatgpt-memories" else format
    if format == "jsonl" and isinstance(document, list):
        yield from records.record_list(document, reader.most)
    elif format == "jsonl":
        yield from records.records(_read_lines(file), reader.most)
    elif document is None and format in ("mem0", "chatgpt-memories"):
        yield from json_exports.memory_lines(_read_lines(file), tag)
    elif document is None:
        remedy = f"Omit --format, or use another one: {', '.join(FORMATS)}."
        yield ImportProblem("file", f"it is not JSON, as {format} requires", remedy)
    elif format == "mcp-memory" and isinstance(document, dict):
        yield from json_exports.graph(document)
    elif format == "chatgpt":
        yield from json_exports.conversations(document, reader.most)
    elif format == "claude-ai":
        yield from claude.claude_ai(document, reader.projects, reader.most)
    else:
        yield from json_exports.memory_list(document, tag)


@cache
def _project_of(folder: str) -> str | None:
    """Return the project that the hooks use in this folder, or its name if it no longer exists."""
    path = Path(folder)
    return repository_project(path) or (None if path.is_dir() else path.name or None)


def _read_all(file: IO[bytes]) -> bytes:
    if file.seek(0, os.SEEK_END) > _MAX_DOCUMENT:
        raise _TooLarge
    file.seek(0)
    data = file.read()
    file.seek(0)
    return data


def _decode(file: IO[bytes]) -> str:
    """Decode the file. Broken UTF-8 is marked, so that only the statement with it is refused."""
    return _read_all(file).decode("utf-8", "surrogateescape")


def _read_lines(file: IO[bytes]) -> Iterator[tuple[int, bytes | None]]:
    number = 0
    while line := file.readline(_MAX_LINE):
        number += 1
        if len(line) < _MAX_LINE or line.endswith(b"\n"):
            yield number, line
            continue
        while (rest := file.readline(_MAX_LINE)) and not rest.endswith(b"\n"):
            pass
        yield number, None


# The text of a PDF, with pypdf, which is an extra.


class UnreadablePdf(Exception):
    """Why a PDF could not be read, and what to do."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.remedy = remedy


def read_pdf(file: IO[bytes]) -> str:
    """Return the pages of a PDF, separated by empty lines; raise UnreadablePdf if it is not
    readable.
    """
    try:
        pypdf = importlib.import_module("pypdf")
    except ImportError as error:
        raise UnreadablePdf(
            "reading a PDF needs the package pypdf", how_to_install("pdf")
        ) from error
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns about harmless faults
    try:
        pages = [page.extract_text() for page in pypdf.PdfReader(file).pages]
    except Exception as error:  # a broken file may raise anything
        raise UnreadablePdf(
            f"the PDF could not be read ({type(error).__name__})",
            "Check that it opens without a password, or save it again.",
        ) from error
    text = "\n\n".join(page.strip() for page in pages)
    return text.replace("\x00", "").encode("utf-8", "ignore").decode()
