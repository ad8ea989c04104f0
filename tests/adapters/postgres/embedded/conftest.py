"""Each test gets a home of its own, and leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from recollect.adapters.postgres.embedded import EmbeddedPostgres
from recollect.adapters.postgres.embedded.locations import end_leftovers

_numbers = count()

USER = """
import sys
from pathlib import Path
from recollect.adapters.postgres.embedded import EmbeddedPostgres
embedded = EmbeddedPostgres(Path(sys.argv[1]), installation=Path(sys.argv[2]))
print(embedded.start(), flush=True)
sys.stdin.read()
embedded.stop()
"""


@pytest.fixture
def home(open_folder: Path) -> Iterator[Path]:
    path = open_folder / f"home{next(_numbers)}"
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def embed(home: Path, installation: Path) -> Iterator[Callable[..., EmbeddedPostgres]]:
    """Make an EmbeddedPostgres; by default in the test's home, with the shared installation."""
    made: list[EmbeddedPostgres] = []

    def make(where: Path = home, **options: Any) -> EmbeddedPostgres:
        made.append(EmbeddedPostgres(where, **{"installation": installation, **options}))
        return made[-1]

    yield make
    for embedded in made:
        embedded.stop()
        end_leftovers(embedded.folder, 15)
        shutil.rmtree(embedded.folder, ignore_errors=True)


@pytest.fixture
def spawn_user(home: Path, installation: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Start another process that prints the URL and uses the home until its input is closed."""
    running: list[subprocess.Popen[str]] = []

    def spawn() -> subprocess.Popen[str]:
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", USER, str(home), str(installation)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        )
        return running[-1]

    yield spawn
    for process in running:
        process.kill()
        process.communicate()
