"""An interrupted benchmark leaves no server running and no folder behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from tests.processes import COMMAND, environment
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

SECONDS = 600
SPEED = (*COMMAND, "bench", "speed", "--rows", "100", "--queries", "2", "--no-dense")
# Like a command that opens its store inside the event loop.
OPENING = """
import asyncio
from recollect_bench.temporary import temporary_home
from recollect.settings import load
from recollect.wiring.postgres import open_postgres

async def measure(home):
    async with open_postgres(load(home=home)):
        await asyncio.Event().wait()

with temporary_home() as home:
    asyncio.run(measure(home))
"""


@pytest.fixture
def temporary(open_folder: Path, request: pytest.FixtureRequest) -> Path:
    folder = open_folder / f"t{abs(hash(request.node.name)) % 10**6}"
    folder.mkdir()
    folder.chmod(0o711)
    return folder


@contextmanager
def started(command: tuple[str, ...], temporary: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command,
        env=environment(TMPDIR=str(temporary), RECOLLECT_HOME=str(temporary / "none")),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def any_postgres(folder: Path) -> set[int]:
    """Process ids of the servers in this folder; the first server only unpacks the binaries."""
    unpacking = folder.glob("*/postgres/installation/extract/data/postmaster.pid")
    return _process_ids(unpacking) | its_postgres(folder)


def its_postgres(folder: Path) -> set[int]:
    return _process_ids(folder.glob("*/postgres/data/postmaster.pid"))


def postgres_of_a_measured_server(folder: Path) -> set[int]:
    return its_postgres(folder) if list(folder.glob("*/serve.log")) else set()


def _process_ids(files: Iterator[Path]) -> set[int]:
    numbers: set[int] = set()
    for file in files:
        with suppress(FileNotFoundError, IndexError):  # it ended, or the file is just being written
            numbers.add(int(file.read_text().split()[0]))
    return numbers


def has_ended(number: int) -> bool:
    """Also true for a zombie: its parent is gone, and the process that adopts it may be slow to
    reap it.
    """
    try:
        stat = Path(f"/proc/{number}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize(
    ("command", "reached", "number"),
    [
        (SPEED, any_postgres, signal.SIGINT),
        (SPEED, postgres_of_a_measured_server, signal.SIGTERM),
        ((sys.executable, "-c", OPENING), its_postgres, signal.SIGTERM),
    ],
    ids=["while it starts", "while a server is measured", "inside the event loop"],
)
def test_temporary_home_is_removed_after_a_signal(
    command: tuple[str, ...],
    reached: Callable[[Path], set[int]],
    number: signal.Signals,
    temporary: Path,
) -> None:
    with started(command, temporary) as process:
        until = time.monotonic() + SECONDS
        while not (servers := reached(temporary)):
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
            assert process.returncode is None, process.communicate()
            assert time.monotonic() < until
        process.send_signal(number)
        _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode not in (0, -number), errors
    assert list(temporary.iterdir()) == []
    for server in servers:
        wait_until(partial(has_ended, server))
