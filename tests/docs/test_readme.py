"""The README's transcript is run as it stands, and must print what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.shells.cli.commands import unhurried_home
from tests.waiting import SECONDS

README = Path(__file__).parents[2] / "README.md"
# What differs from run to run: ids, moments and durations.
VARYING = (
    (re.compile(r"\b\d+\.\d+ ms"), "<ms>"),
    (re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?"), "<moment>"),
    # Cosines differ in their last digits between processors, and lines wrap where numbers end.
    (re.compile(r"\d+\.\d+"), "<number>"),
    (re.compile(r"\b[0-9a-f]{4,8}\b"), "<id>"),
    (re.compile(r"\s+"), " "),
)


def transcript() -> list[tuple[str, str]]:
    """Each command of the console block, and the output shown below it."""
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
