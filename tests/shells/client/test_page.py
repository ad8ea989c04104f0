"""The page's first program runs as written, and its table names every method."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.processes import environment
from tests.shells.cli.commands import unhurried_home
from tests.waiting import SECONDS

import recollect
from recollect import Client

PAGE = (Path(__file__).parents[3] / "docs" / "python.md").read_text()


def test_the_first_program_prints_what_it_remembers(tmp_path: Path) -> None:
    program = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(RECOLLECT_HOME=os.fspath(unhurried_home(tmp_path / "home"))),
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
    )
    assert "Nadia prefers small pull requests." in done.stdout


def test_every_method_is_in_the_table() -> None:
    for name in vars(Client):
        if not name.startswith("_"):
            assert f"`{name}(" in PAGE, name


def test_every_name_that_the_page_imports_is_there() -> None:
    for names in re.findall(r"^from recollect import (.+)$", PAGE, re.MULTILINE):
        for name in names.split(", "):
            assert hasattr(recollect, name), name
