"""A folder without hard links, as on exFAT."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from uuid import UUID

import pytest
from tests.conformance.samples import ids, listed, memory

from recollect.adapters.files.erasure_log import ErasureLogs
from recollect.adapters.files.new_files import place
from recollect.adapters.sqlite.store import SqliteStore

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def without_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_a_store_is_made(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    async with SqliteStore(path) as store:
        await store.add(memory(1))
        assert await listed(store) == ids(1)
    assert names_in(tmp_path) == [path.name]


def test_an_erasure_log_is_made_once(tmp_path: Path) -> None:
    first, second = (ErasureLogs(tmp_path).open(UUID(int=7)) for _ in range(2))
    assert first == second
    assert names_in(tmp_path) == [first.path.name]


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    new, path = tmp_path / "new", tmp_path / "path"
    new.write_text("late")
    path.write_text("first")
    place(new, path)
    assert path.read_text() == "first"
