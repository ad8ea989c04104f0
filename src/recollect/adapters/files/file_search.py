"""Searches the bytes of files for erased texts that no query would find."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from recollect.core.privacy.erasure import Remain

_CHUNK: Final = 8_000_000


def search_files(path: Path, texts: Sequence[str]) -> list[Remain]:
    """Return the files, at the path or below it, that contain one of the texts."""
    needles = [text.encode() for text in texts if text]
    if not needles:
        return []
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    counts = {file: _count(file, needles) for file in files}
    what = "texts in the bytes of the file"
    return [Remain(str(file), what, count) for file, count in counts.items() if count]


def _count(path: Path, needles: Sequence[bytes]) -> int:
    longest = max(map(len, needles))
    count, tail = 0, b""
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                count += sum(needle in tail + chunk for needle in needles)
                tail = chunk[-longest:]
    except FileNotFoundError:
        return 0  # it was removed since it was listed, as a database's log may be
    return count
