"""A store on a full file system: `test_sqlite_full.py` runs this in a process of its own, which
alone sees the file system.

The store is so large that what an erasure changes does not fit into SQLite's cache (2 MB).
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from tests.conformance.samples import OWNER, memory, search

from recollect.adapters.sqlite.errors import spare_copies
from recollect.adapters.sqlite.history import erasure
from recollect.adapters.sqlite.history.owner_erasure import SqliteOwnerErasure
from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.errors import StoreFull, StoreUnavailable

_SPARE_COPY: Final = erasure._spare_copy

_WRITTEN: Final = 100
_COPIES: Final = 50
MEMORIES: Final = _WRITTEN * (_COPIES + 1) + 1
ERASED: Final = UUID(int=50_000)
RARE: Final = "zanzibarite"
_COPY: Final = """
INSERT INTO memories (id, {columns})
SELECT substr(m.id, 1, 14) || printf('%04x', c.value) || substr(m.id, 19), {columns}
FROM memories m, (WITH RECURSIVE numbers (value) AS
    (SELECT 1 UNION ALL SELECT value + 1 FROM numbers WHERE value < ?) SELECT * FROM numbers) c
"""


async def erase_at_once(path: Path) -> dict[str, Any]:
    fill_disk(path)
    async with SqliteStore(path) as store:
        erased = await store.erase(OWNER, ERASED)
        return {"erased": erased, "found": len(await search(store, RARE))}


async def erase_while_open(path: Path) -> dict[str, Any]:
    async with SqliteStore(path) as store:
        await store.add(memory(60_000, "the last one"))
        await store.erase(OWNER, UUID(int=60_000))
        assert await search(store, RARE) == [ERASED]
        fill_disk(path)
        erased = await store.erase(OWNER, ERASED)
        return {"erased": erased, "found": len(await search(store, RARE))}


async def erase_all(path: Path) -> dict[str, Any]:
    fill_disk(path)
    async with SqliteStore(path) as store:
        done = await SqliteOwnerErasure(store.threads).erase_owner(OWNER)
        await store.add(memory(9_999_999, "the harbour"))
        assert await search(store, "harbour") == [UUID(int=9_999_999)]
    return {"erased": done.memories}


async def erase_while_shared(path: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(path)) as other:
        other.execute("SELECT 1 FROM memories").fetchone()
        fill_disk(path)
        async with SqliteStore(path) as store:
            try:
                await store.erase(OWNER, ERASED)
            except StoreFull as error:
                return {"remedy": error.remedy}
    return {}


async def erase_with_failing_writes(path: Path, room: str) -> dict[str, Any]:
    fill_disk(path)
    limit = int(size_of(path) * float(room))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    refused = None
    async with SqliteStore(path) as store:
        try:
            await store.erase(OWNER, ERASED)
        except StoreFull as error:
            refused = type(error).__name__
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return {"refused": refused}


async def erase_until_killed(path: Path) -> dict[str, Any]:
    fill_disk(path)
    command = [sys.executable, __file__, str(path)]
    killed = await asyncio.to_thread(subprocess.run, command, check=False)
    assert killed.returncode == -signal.SIGKILL
    try:
        async with SqliteStore(path):
            refused = ""
    except StoreUnavailable as error:
        refused = error.remedy
    (spare,) = [copy for copy in spare_copies(path) if copy.exists()]
    (path.parent / "filler").unlink()
    shutil.move(spare, path)
    return {"refused": refused, "spare": str(spare)}


@contextmanager
def overwrite_and_die(copy: sqlite3.Connection, path: Path) -> Iterator[None]:
    with _SPARE_COPY(copy, path):
        with path.open("r+b") as file:
            file.write(bytes(200_000))
        os.kill(os.getpid(), signal.SIGKILL)
        yield


async def erase_and_die(path: Path) -> None:
    erasure._spare_copy = overwrite_and_die
    async with SqliteStore(path) as store:
        await store.erase(OWNER, ERASED)


async def erase_into_the_log(path: Path) -> dict[str, Any]:
    log = path.with_name(f"{path.name}-wal")
    async with SqliteStore(path) as store:
        await store.threads.writer.run(_grow_log)
        fill_disk(path)
        try:
            await store.erase(OWNER, ERASED)
        except StoreFull as error:
            refused = str(error)
        holds_text = holds(path) or holds(log)
        (path.parent / "filler").unlink()
    async with SqliteStore(path):
        pass
    return {"refused": refused, "holds_text": holds_text, "holds_text_later": holds(path)}


def _grow_log(writer: sqlite3.Connection) -> None:
    """Grow the log to the size of the file, which then has no free page."""
    writer.execute("VACUUM")
    writer.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()


async def make_store(path: Path) -> None:
    def copy(writer: sqlite3.Connection) -> None:
        names = [row["name"] for row in writer.execute("PRAGMA table_info(memories)")]
        columns = ", ".join(name for name in names if name not in ("number", "id"))
        writer.execute(_COPY.format(columns=columns), (_COPIES,))

    async with SqliteStore(path) as store:
        for number in range(1, _WRITTEN + 1):
            words = " ".join(f"boat{number % 10 * place}" for place in range(100))
            await store.add(memory(number, f"letter{number} {words}"))
        await store.threads.writer.run(copy)
        await store.add(memory(ERASED.int, f"{RARE} is hidden"))


def fill_disk(path: Path) -> None:
    with (path.parent / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    assert shutil.disk_usage(path.parent).free == 0


def holds(path: Path) -> bool:
    return path.exists() and RARE.encode() in path.read_bytes()


def read_directly(path: Path) -> dict[str, Any]:
    """Report what is in the file, read without Recollect."""
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as reader:
        (memories,) = reader.execute("SELECT count(*) FROM memories").fetchone()
        (sound,) = reader.execute("PRAGMA integrity_check").fetchone()
    return {"memories": memories, "is_sound": sound == "ok", "holds_text": holds(path)}


CASES: Final = (
    erase_at_once,
    erase_while_open,
    erase_all,
    erase_while_shared,
    erase_with_failing_writes,
    erase_into_the_log,
    erase_until_killed,
)


def size_of(path: Path) -> int:
    return path.stat().st_size


def main(store: str, folder: str, name: str, *arguments: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=150m", "tmpfs", folder], check=True)
    path = Path(folder) / "memories.db"
    shutil.copy(store, path)
    cases: dict[str, Callable[..., Coroutine[Any, Any, dict[str, Any]]]] = {
        case.__name__: case for case in CASES
    }
    done = asyncio.run(cases[name](path, *arguments))
    sizes = {"before": size_of(Path(store)), "after": size_of(path)}
    sys.stdout.write(json.dumps({**read_directly(path), **sizes, **done}))


if __name__ == "__main__":
    if len(sys.argv) == 2:
        asyncio.run(erase_and_die(Path(sys.argv[1])))
    main(*sys.argv[1:])
