"""The README's transcript and the code of the Python guide are run as they are shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.shells.cli.commands import unhurried_home
from tests.waiting import SECONDS

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
GUIDE = ROOT / "docs" / "python.md"
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
# What differs from run to run: ids, moments and durations.
VARYING = (
    (re.compile(r"\b\d+\.\d+ ms"), "<ms>"),
    (re.compile(r"\S+/models/\S+"), "<folder>"),
    (re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?"), "<moment>"),
    # Cosines differ in their last digits between processors, and lines wrap where numbers end.
    (re.compile(r"\d+\.\d+"), "<number>"),
    (re.compile(r"\b[0-9a-f]{4,8}\b"), "<id>"),
    (re.compile(r"\s+"), " "),
)


def transcript() -> list[tuple[str, str]]:
    """Return each command of the console block with the output shown below it."""
    (block,) = re.findall(r"```console\n(.*?)```", README.read_text(), re.DOTALL)
    steps = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command, output) for command, _, output in (step.partition("\n") for step in steps)]


def steady(text: str) -> str:
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    return text


def test_the_transcript_is_what_the_commands_print(home_with_model: Path) -> None:
    shown = transcript()
    assert len(shown) >= 4
    environment = {name: value for name, value in os.environ.items() if "RECOLLECT_" not in name}
    environment |= {
        "RECOLLECT_HOME": str(unhurried_home(home_with_model)),
        "RECOLLECT_TIMEOUT_FACTOR": "60",
        "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}",
        "COLUMNS": "100",
    }
    for command, expected in shown:
        done = subprocess.run(
            command, shell=True, env=environment, capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == 0, done.stderr
        assert steady(done.stdout) == steady(expected), command


@pytest.mark.parametrize("block", [block for block in BLOCKS if "import anthropic" not in block])
def test_each_block_of_the_python_guide_runs_alone(block: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(
        "Invoices are numbered per year.\nOn-call changes on Monday.\n"
    )
    environment = {name: value for name, value in os.environ.items() if "RECOLLECT_" not in name}
    environment |= {"RECOLLECT_HOME": f"{tmp_path}/home", "RECOLLECT_EMBEDDER": "none"}
    done = subprocess.run(
        [sys.executable, "-c", block],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr


def test_the_python_guide_has_blocks() -> None:
    assert len(BLOCKS) >= 5
