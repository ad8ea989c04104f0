"""Vectors of fixed texts in a file of the home, so that a command need not embed them again."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from recollect.core.recall.space import Space

_BYTES: Final = 4


class BackgroundFile:
    """Implements `BackgroundCache`: one file for each space and list of texts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, space: Space, texts: Sequence[str]) -> list[list[float]] | None:
        try:
            data = self._path(space, texts).read_bytes()
        except OSError:
            return None
        if len(data) != len(texts) * space.dimension * _BYTES:
            return None
        numbers = array("f", data).tolist()
        starts = range(0, len(numbers), space.dimension)
        return [numbers[start : start + space.dimension] for start in starts]

    def write(self, space: Space, texts: Sequence[str], vectors: Sequence[Sequence[float]]) -> None:
        path = self._path(space, texts)
        new = path.with_name(f".{path.name}.{os.getpid()}")
        data = b"".join(array("f", vector).tobytes() for vector in vectors)
        with suppress(OSError):  # a full disk, or one that may only be read
            self._folder.mkdir(mode=0o700, exist_ok=True)
            try:
                new.write_bytes(data)
                new.replace(path)
            finally:
                new.unlink(missing_ok=True)

    def _path(self, space: Space, texts: Sequence[str]) -> Path:
        digest = sha256("\n".join((space.name, *texts)).encode()).hexdigest()
        return self._folder / f"{digest[:32]}.f32"
