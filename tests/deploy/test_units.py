"""The units in `deploy/systemd` are checked by systemd itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.real_parts import SYSTEMD_ANALYZE

UNITS = Path(__file__).parents[2] / "deploy" / "systemd"


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units, with a program that is there."""
    folder = tmp_path / "units"
    shutil.copytree(UNITS, folder)
    for path in folder.glob("*.service"):
        path.write_text(path.read_text().replace("/usr/local/bin/recollect", "/usr/bin/env"))
    return folder


def analyze(units: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "SYSTEMD_UNIT_PATH": f"{units}:"}
    command = [SYSTEMD_ANALYZE.path(), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=variables, check=False)


def test_systemd_accepts_the_units(units: Path) -> None:
    files = [str(path) for path in units.glob("*.*") if path.is_file()]
    done = analyze(units, "verify", "--man=no", *files)
    assert [line for line in done.stderr.splitlines() if "recollect" in line] == []
    assert done.returncode == 0, done.stderr


def test_systemd_rates_the_units_as_protected(units: Path) -> None:
    """On systemd's scale from 0 (safe) to 10 (unsafe), where services without options have 9.6."""
    path = str(units / "recollect-server.service")
    done = analyze(units, "security", "--offline=yes", "--no-pager", path)
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert found is not None, done.stderr
    assert float(found[1]) < 2.5
