"""The erasure log next to the database: shared by several servers, and on a full disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest
from tests.conformance.samples import OWNER, fill, ids, listed, memory

from recollect.adapters.files.erasure_log import Erasure, ErasureLog, ErasureLogs
from recollect.adapters.postgres.store import PostgresStore

pytestmark = pytest.mark.anyio

SERVER = UUID(int=7)
ONE, TWO = (Erasure(UUID(int=number), OWNER) for number in (1, 2))

# There is room for only a part of the line.
WITHOUT_ROOM = """
import resource, sys
from pathlib import Path
from uuid import UUID
from recollect.adapters.files.erasure_log import Erasure, ErasureLogs

log = ErasureLogs(Path(sys.argv[1])).open(UUID(int=7))
size = log.path.stat().st_size + 20
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
try:
    log.append([Erasure(UUID(int=1), "ada")])
except OSError as error:
    print(error.strerror)
"""


def only_log(folder: Path) -> ErasureLog:
    (path,) = folder.glob("*.log")
    return ErasureLogs(folder).open(UUID(path.stem))


def test_a_line_that_was_cut_off_spoils_only_itself(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_ROOM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "File too large\n"
    log = ErasureLogs(tmp_path).open(SERVER)
    start, end = log.append([TWO])
    assert log.read(0) == ([TWO], end)
    assert log.read(start) == ([TWO], end)


async def test_an_erasure_that_another_server_only_logged_is_applied(
    database_url: str, tmp_path: Path
) -> None:
    async with PostgresStore(database_url, erasures=ErasureLogs(tmp_path)) as store:
        await fill(store, *(memory(number) for number in (1, 2, 3)))
        only_log(tmp_path).append([TWO])
        assert await store.erase(OWNER, ONE.id)
        assert await listed(store) == ids(3)
    async with PostgresStore(database_url, erasures=ErasureLogs(tmp_path)) as store:
        assert await listed(store) == ids(3)
