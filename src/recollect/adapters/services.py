"""Services of this machine: files of systemd or launchd, and the programs that manage them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from recollect.core.admin.services import (
    ACCOUNT,
    AGENTS,
    BACKUP,
    UNITS,
    ServicePlan,
    render_agents,
    render_units,
)
from recollect.core.errors import InvalidInput, StoreError

State = Literal["running", "installed", "absent"]


@dataclass(frozen=True, slots=True)
class Manager:
    """`folder` is where the files are. With `root`, a file system that is not running is prepared:
    services are enabled there and not started.
    """

    kind: Literal["systemd", "launchd"]
    folder: Path
    is_system: bool
    root: Path | None = None

    def render(self, plan: ServicePlan) -> Mapping[Path, str]:
        if self.kind == "systemd":
            return {self.folder / name: text for name, text in render_units(plan).items()}
        logs = Path.home() / "Library" / "Logs"
        rendered = render_agents(plan, logs)
        return {self.folder / f"{label}.plist": text for label, text in rendered.items()}

    def install(self, plan: ServicePlan) -> Sequence[Path]:
        """Write the files, remove those that the plan leaves out, and start the services."""
        files = self.render(plan)
        self._stop([path for path in self._files() if path not in files])
        self.folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            path.write_text(text)
        if self.is_system:
            self._create_account()
        self._start([*files])
        return [*files]

    def remove(self) -> Sequence[Path]:
        """Stop the services and remove their files. Their data stays."""
        found = self._files()
        self._stop(found)
        return found

    def status(self) -> Mapping[str, State]:
        names = UNITS if self.kind == "systemd" else AGENTS
        return {name: self._state(name) for name in names}

    def _files(self) -> list[Path]:
        names = UNITS if self.kind == "systemd" else [f"{label}.plist" for label in AGENTS]
        return [self.folder / name for name in names if (self.folder / name).exists()]

    def _create_account(self) -> None:
        file = (self.root or Path("/")) / "etc" / "sysusers.d" / "recollect.conf"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(ACCOUNT)
        options = [] if self.root is None else [f"--root={self.root}"]
        _run("systemd-sysusers", *options, file.name)

    def _start(self, files: Sequence[Path]) -> None:
        if self.kind == "launchd":
            for path in files:
                self._run("bootout", f"{self._domain}/{path.stem}", check=False)
                self._run("bootstrap", self._domain, str(path))
            return
        started = [path.name for path in files if path.name != BACKUP]
        if self.root is None:
            self._run("daemon-reload")
        self._run("enable", *started)
        if self.root is None:
            self._run("restart", *started)

    def _stop(self, files: Sequence[Path]) -> None:
        for path in files:
            if self.kind == "launchd":
                self._run("bootout", f"{self._domain}/{path.stem}", check=False)
            elif self.root is None:
                self._run("disable", "--now", path.name)
            else:
                self._run("disable", path.name)
            path.unlink()
        if files and self.kind == "systemd" and self.root is None:
            self._run("daemon-reload")

    def _state(self, name: str) -> State:
        file = self.folder / (name if self.kind == "systemd" else f"{name}.plist")
        if not file.exists():
            return "absent"
        if self.root is not None:
            return "installed"
        asked = (
            ("is-active", "--quiet", name)
            if self.kind == "systemd"
            else ("print", f"{self._domain}/{name}")
        )
        return "running" if self._run(*asked, check=False) == 0 else "installed"

    @property
    def _domain(self) -> str:
        return f"gui/{os.getuid()}"

    def _run(self, *arguments: str, check: bool = True) -> int:
        if self.kind == "launchd":
            return _run("launchctl", *arguments, check=check)
        if self.root is not None:
            return _run("systemctl", f"--root={self.root}", *arguments, check=check)
        whose = () if self.is_system else ("--user",)
        return _run("systemctl", *whose, *arguments, check=check)


def find_manager(root: Path | None = None) -> Manager:
    """Those of systemd or launchd: for the whole machine if run by root, else for this account."""
    is_root = os.geteuid() == 0
    if sys.platform == "darwin":
        if is_root:
            raise InvalidInput(
                "on macOS, Recollect runs as an agent of an account, not as root",
                field="service",
                remedy="Run the command as the account whose memories it keeps.",
            )
        return Manager("launchd", Path.home() / "Library" / "LaunchAgents", is_system=False)
    _find("systemctl")
    if root is not None:
        folder = root.absolute() / "etc" / "systemd" / "system"
        return Manager("systemd", folder, is_system=True, root=root.absolute())
    if is_root:
        return Manager("systemd", Path("/etc/systemd/system"), is_system=True)
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Manager("systemd", Path(config) / "systemd" / "user", is_system=False)


def find_program(*, is_system: bool) -> Path:
    """The `recollect` command, which a service of the whole machine must be able to read."""
    program = Path(sys.executable).parent / "recollect"
    if is_system and any(program.is_relative_to(home) for home in ("/root", "/home")):
        raise InvalidInput(
            f"{program} is in a home directory, which the service cannot read",
            field="service",
            remedy="Install Recollect for all accounts, such as with `make install "
            "PREFIX=/usr/local`, or run the command without root.",
        )
    return program


def _run(program: str, *arguments: str, check: bool = True) -> int:
    command = [_find(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # names of ours
    if check and done.returncode != 0:
        raise StoreError(
            f"`{program} {' '.join(arguments)}` failed: {done.stderr.strip()}",
            remedy="Fix what it reports, then run the command again.",
        )
    return done.returncode


def _find(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise InvalidInput(
            f"{program} is not installed",
            field="service",
            remedy="Use --print to see the files, and run `recollect serve` with the service "
            "manager of this machine.",
        )
    return found
