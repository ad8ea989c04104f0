"""Create `.venv` for a clone: `set_up.py` with what Recollect needs to run, `set_up.py --dev` also
with what its tests need. Does nothing if `.venv` is up to date.
"""

import hashlib
import sys
from pathlib import Path

from environment import (
    BENCH,
    BUILD_PINS,
    DEV_PINS,
    ROOT,
    RUNTIME_PINS,
    Environment,
    SetUpFailed,
    locked,
    run_main,
)

VENV = ROOT / ".venv"
# Each stamp is written when its layer is complete: a half-built environment is rebuilt.
RUNTIME_STAMP = VENV / ".runtime"
DEV_STAMP = VENV / ".dev"


def main() -> None:
    with locked(ROOT / ".venv.lock"):
        runtime = _digest(RUNTIME_PINS, BUILD_PINS, ROOT / "pyproject.toml")
        dev = _digest(DEV_PINS, ROOT / "pyproject.toml", BENCH / "pyproject.toml")
        environment = Environment(VENV)
        if not environment.python.exists() or _read(RUNTIME_STAMP) != runtime:
            print("Setting up .venv with the pinned packages (once) ...", flush=True)
            environment.create()
            environment.install(RUNTIME_PINS)
            environment.install(BUILD_PINS)
            environment.install_project("-e", str(ROOT))
            RUNTIME_STAMP.write_text(runtime)
        if "--dev" in sys.argv[1:] and _read(DEV_STAMP) != dev:
            print("Adding the development packages to .venv (once) ...", flush=True)
            environment.install(DEV_PINS)
            environment.install_project("-e", str(BENCH))
            DEV_STAMP.write_text(dev)


def _digest(*files: Path) -> str:
    parts = [sys.version, str(ROOT)]
    for file in files:
        if not file.exists():
            raise SetUpFailed(f"{file.name} is missing. Run `git checkout -- {file.name}`")
        parts.append(file.read_text())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _read(stamp: Path) -> str:
    return stamp.read_text() if stamp.exists() else ""


if __name__ == "__main__":
    run_main(main)
