"""Install Recollect as a program: its own environment, and `recollect` in a `bin` folder.

    install.py --prefix ~/.local              PREFIX/lib/recollect/…, PREFIX/bin/recollect
    install.py --prefix ~/.local --uninstall  remove both and the entries in agents' settings;
                                              memories stay where they are

Each install builds a new environment next to the last one and then switches the link, so an
interrupted install leaves the old program working.
"""

import argparse
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from environment import (
    BENCH,
    BUILD_PINS,
    EXTRAS_PINS,
    ROOT,
    RUNTIME_PINS,
    Environment,
    SetUpFailed,
    locked,
    run_main,
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Install Recollect as a program.")
    parser.add_argument("--prefix", type=Path, default=Path.home() / ".local")
    parser.add_argument("--uninstall", action="store_true")
    parser.add_argument("--keep-agents", action="store_true", help="leave agents' settings alone")
    parser.add_argument("--extras", action="store_true", help="with the benchmark and all extras")
    options = parser.parse_args()
    prefix = options.prefix.expanduser().absolute()
    library, link = prefix / "lib" / "recollect", prefix / "bin" / "recollect"
    if options.uninstall:
        uninstall(library, link, keep_agents=options.keep_agents)
        return
    if (link.exists() or link.is_symlink()) and not is_ours(link, library):
        raise SetUpFailed(
            f"{link} was not installed by make install. Remove it first (`uv tool uninstall "
            "recollect`, `pipx uninstall recollect`), or choose another PREFIX"
        )
    library.mkdir(parents=True, exist_ok=True)
    link.parent.mkdir(parents=True, exist_ok=True)
    with locked(library / ".lock"):
        install(library, link, with_extras=options.extras)
    version = subprocess.run([str(link), "--version"], capture_output=True, text=True, check=True)
    print(f"Installed {version.stdout.strip()} as {link}")
    if shutil.which("recollect") != str(link):
        print(f'To run it as `recollect`: export PATH="{link.parent}:$PATH"')
    print("Remove it with `make uninstall`; your memories stay.")


def install(library: Path, link: Path, *, with_extras: bool) -> None:
    print("Installing Recollect with its pinned packages ...", flush=True)
    environment = Environment(library / time.strftime("%Y%m%d-%H%M%S"))
    try:
        environment.create()
        environment.install(EXTRAS_PINS if with_extras else RUNTIME_PINS)
        projects = (ROOT, BENCH) if with_extras else (ROOT,)
        with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
            environment.install_project(*map(str, _build_wheels(projects, Path(folder))))
        switch(link, environment.path / "bin" / "recollect")
    except BaseException:
        shutil.rmtree(environment.path, ignore_errors=True)
        raise
    for old in library.iterdir():
        if old.is_dir() and old != environment.path:
            shutil.rmtree(old, ignore_errors=True)


def switch(link: Path, target: Path) -> None:
    """Point the link to the new program atomically."""
    new = link.with_name(f".recollect-{os.getpid()}")
    new.symlink_to(target)
    new.replace(link)


def is_ours(link: Path, library: Path) -> bool:
    return link.is_symlink() and link.readlink().is_relative_to(library)


def uninstall(library: Path, link: Path, *, keep_agents: bool) -> None:
    if not library.exists() and not is_ours(link, library):
        print(f"make install has installed nothing below {link.parent.parent}.")
        return
    removed = [library]
    if is_ours(link, library):
        command = [str(link), "uninstall", *(["--keep-agents"] if keep_agents else [])]
        if subprocess.run(command, check=False).returncode:
            print("Some agents' settings still name Recollect; remove those entries by hand.")
        link.unlink()
        removed.append(link)
    shutil.rmtree(library, ignore_errors=True)
    print(f"Removed {' and '.join(map(str, removed))}. Your memories stay where they are.")


def _build_wheels(projects: Sequence[Path], folder: Path) -> list[Path]:
    """Build the wheels of this clone, in an environment with only the build backend."""
    backend = Environment(folder / "backend")
    backend.create()
    backend.install(BUILD_PINS)
    return [backend.build_wheel(project, folder) for project in projects]


if __name__ == "__main__":
    run_main(main)
