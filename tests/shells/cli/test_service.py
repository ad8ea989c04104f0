"""`recollect service`: what it writes is checked by systemd itself, and installed into the file
system of a machine that does not run.
"""

from __future__ import annotations

import os
import plistlib
import re
import subprocess
from pathlib import Path

import pytest
from tests.real_parts import SYSTEMD_ANALYZE
from tests.shells.cli.commands import Cli

from recollect.core.admin.services import ServicePlan, render_agents, render_units

PROGRAM = Path("/usr/bin/env")


def write(folder: Path, plan: ServicePlan) -> list[str]:
    paths = []
    for name, text in render_units(plan).items():
        (folder / name).write_text(text)
        paths.append(str(folder / name))
    return paths


@pytest.mark.parametrize("is_system", [True, False])
def test_systemd_accepts_the_units(tmp_path: Path, *, is_system: bool) -> None:
    plan = ServicePlan(
        PROGRAM,
        is_system,
        worker=True,
        backups=Path("/var/backups/100% of $HOME's"),
        environment={"RECOLLECT_HOME": "/srv/with space"},
    )
    whose = "--system" if is_system else "--user"
    command = [SYSTEMD_ANALYZE.path(), "verify", whose, "--man=no", *write(tmp_path, plan)]
    variables = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=variables)
    about_ours = [line for line in done.stderr.splitlines() if "recollect" in line]
    assert about_ours == []
    assert done.returncode == 0, done.stderr


def test_systemd_rates_the_units_as_protected(tmp_path: Path) -> None:
    """On systemd's scale from 0 (safe) to 10 (unsafe), where services without options have 9.6."""
    (path, *_) = write(tmp_path, ServicePlan(PROGRAM, is_system=True))
    command = [SYSTEMD_ANALYZE.path(), "security", "--offline=yes", "--no-pager", path]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert found is not None, done.stderr
    assert float(found[1]) < 2.5


def test_the_server_leaves_work_to_the_worker_if_there_is_one() -> None:
    alone = render_units(ServicePlan(PROGRAM, is_system=True))
    assert [*alone] == ["recollect.service"]
    assert "RECOLLECT_WORKER" not in alone["recollect.service"]
    both = render_units(ServicePlan(PROGRAM, is_system=True, worker=True))
    assert "Environment=RECOLLECT_WORKER=off" in both["recollect.service"]
    assert "RECOLLECT_WORKER" not in both["recollect-worker.service"]


def test_services_are_installed_into_another_root_and_removed(tmp_path: Path) -> None:
    SYSTEMD_ANALYZE.path()  # systemctl is of the same package
    cli, root = Cli(tmp_path / "home", {}), tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    folder = root / "etc" / "systemd" / "system"
    at = ("--root", str(root))
    cli.json("service", "install", "--worker", "--backup", "/var/backups/recollect", *at)
    assert (folder / "multi-user.target.wants" / "recollect.service").is_symlink()
    assert (folder / "timers.target.wants" / "recollect-backup.timer").is_symlink()
    assert "recollect:" in (root / "etc" / "passwd").read_text()
    assert cli.json("service", "status", *at)["services"] == {
        "recollect.service": "installed",
        "recollect-worker.service": "installed",
        "recollect-backup.service": "installed",
        "recollect-backup.timer": "installed",
    }
    cli.json("service", "install", *at)
    assert sorted(path.name for path in folder.glob("*.*") if path.is_file()) == [
        "recollect.service"
    ]
    cli.json("service", "remove", *at)
    assert [*folder.rglob("recollect*")] == []


def test_printing_the_services_changes_nothing(tmp_path: Path) -> None:
    SYSTEMD_ANALYZE.path()
    root = tmp_path / "root"
    told = Cli(tmp_path / "home", {}).json("service", "install", "--print", "--root", str(root))
    (path,) = told["files"]
    assert path == str(root / "etc" / "systemd" / "system" / "recollect.service")
    assert "recollect serve" in told["files"][path]
    assert not root.exists()


def test_launchd_agents_are_property_lists(tmp_path: Path) -> None:
    plan = ServicePlan(
        PROGRAM,
        is_system=False,
        backups=Path("/Users/ada/Back & up"),
        environment={"RECOLLECT_HOME": "/Users/ada/recollect"},
    )
    agents = render_agents(plan, tmp_path)
    server = plistlib.loads(agents["dev.recollect.server"].encode())
    assert server["ProgramArguments"] == ["/usr/bin/env", "serve"]
    assert server["KeepAlive"] is True
    backup = plistlib.loads(agents["dev.recollect.backup"].encode())
    assert backup["ProgramArguments"][2] == "/Users/ada/Back & up"
    assert "StartCalendarInterval" in backup
