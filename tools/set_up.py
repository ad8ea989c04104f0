"""Make `.venv` with the pinned dependencies; do nothing when it is already as it should be.

Runs on the system's own Python with nothing installed, so it uses the standard library alone.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / ".set-up"
PINS = ROOT / "requirements-dev.txt"
OLDEST = (3, 11)


def main() -> None:
    if sys.version_info < OLDEST:
        sys.exit(
            f"Recollect needs Python {OLDEST[0]}.{OLDEST[1]} or newer; this is "
            f"{sys.version.split()[0]}.\nName a newer one: make PYTHON=python3.12 …"
        )
    # Two runs of make in one clone must not build the same environment at once.
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = fingerprint()
        if STAMP.exists() and STAMP.read_text() == wanted:
            return
        build()
        STAMP.write_text(wanted)


def fingerprint() -> str:
    """Changes when the environment must be built anew."""
    parts = [sys.version, str(ROOT)]
    parts += [(ROOT / name).read_text() for name in (PINS.name, "pyproject.toml")]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def build() -> None:
    print("Setting up .venv with the pinned dependencies: about a minute, once.", flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    pip = make_venv()
    run(*pip, "install", "--require-hashes", "-r", str(PINS))
    run(*pip, "install", "--no-deps", "--no-build-isolation", "-e", str(ROOT))


def make_venv() -> tuple[str, ...]:
    """The command that is pip inside the new environment."""
    python = str(VENV / "bin" / "python")
    if works(sys.executable, "-c", "import ensurepip"):
        run(sys.executable, "-m", "venv", str(VENV))
        return (python, "-m", "pip")
    # Debian splits ensurepip off into python3-venv; the system's pip can fill a venv without it.
    if works(sys.executable, "-m", "pip", "--version"):
        run(sys.executable, "-m", "venv", "--without-pip", str(VENV))
        return (sys.executable, "-m", "pip", "--python", python)
    sys.exit(
        "This Python can neither make an environment with pip nor has pip itself.\n"
        "On Debian or Ubuntu: apt install python3-venv"
    )


def works(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def run(*command: str) -> None:
    """Quiet while all is well; everything the command said when it is not."""
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\nSetting up failed at: {' '.join(command)}")


if __name__ == "__main__":
    main()
