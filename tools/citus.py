"""A Citus cluster of three nodes on this machine, to run tests on.

`citus.py build SOURCES` compiles Citus and pgvector, from the folders `citus` and `pgvector` of
SOURCES, for the Postgres of `pg_config`. `citus.py run COMMAND …` starts the nodes, runs the
command with RECOLLECT_TEST_CITUS_URL set, and removes them. Both say what is missing.

The nodes keep nothing: they do not flush, and let every local process in.
"""

from __future__ import annotations

import argparse
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psycopg

NODES: Final = 3
SUPERUSER: Final = "postgres"
# Postgres refuses to run as root.
ACCOUNT: Final = "nobody"
# Each database of a test has a process of Citus's own on every node.
CONFIGURATION: Final[Mapping[str, str]] = {
    "shared_preload_libraries": "citus",
    "citus.enable_unsafe_triggers": "on",
    "citus.node_conninfo": "sslmode=prefer",
    "listen_addresses": "127.0.0.1",
    "wal_level": "logical",
    "max_connections": "400",
    "max_worker_processes": "200",
    "max_locks_per_transaction": "512",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pg-config", default=shutil.which("pg_config"))
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build").add_argument("sources", type=Path)
    run = commands.add_parser("run")
    run.add_argument("program")
    run.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if given.pg_config is None:
        return refuse("There is no pg_config: install Postgres with its headers, or pass its path.")
    if given.command == "build":
        return build(given.sources.absolute(), given.pg_config)
    missing = find_missing(given.pg_config)
    if missing:
        return refuse(f"{', '.join(missing)} missing: run `citus.py build SOURCES` first.")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the nodes end, too
    with running_nodes(ask(given.pg_config, "--bindir")) as ports:
        urls = [f"postgresql://{SUPERUSER}@127.0.0.1:{port}/postgres" for port in ports]
        environment = {**os.environ, "RECOLLECT_TEST_CITUS_URL": " ".join(urls)}
        return subprocess.run([given.program, *given.arguments], env=environment).returncode


def build(sources: Path, pg_config: str) -> int:
    """Compile and install the extensions; report what stops it."""
    absent = [name for name in ("citus", "pgvector") if not (sources / name).is_dir()]
    if absent:
        return refuse(f"{sources} lacks {' and '.join(absent)}: unpack the sources there.")
    if not Path(ask(pg_config, "--includedir-server")).is_dir():
        return refuse("Postgres's headers are missing: install postgresql-server-dev.")
    make = ["make", f"-j{os.cpu_count()}", "with_llvm=no", f"PG_CONFIG={pg_config}"]
    steps = [
        ("citus", ["./configure", f"PG_CONFIG={pg_config}"]),
        ("citus", [*make, "install"]),
        # Without this it is compiled for this processor only.
        ("pgvector", [*make, "OPTFLAGS=", "install"]),
    ]
    for name, command in steps:
        if subprocess.run(command, cwd=sources / name).returncode:
            return refuse(f"`{' '.join(command)}` failed in {sources / name}.")
    return 0


def find_missing(pg_config: str) -> list[str]:
    extensions = Path(ask(pg_config, "--sharedir")) / "extension"
    wanted = ("citus", "vector")
    return [name for name in wanted if not (extensions / f"{name}.control").exists()]


def ask(pg_config: str, option: str) -> str:
    asked = subprocess.run([pg_config, option], check=True, capture_output=True, text=True)
    return asked.stdout.strip()


@contextmanager
def running_nodes(programs: str) -> Iterator[list[int]]:
    """Start the nodes, and end them with their data."""
    folder = Path(tempfile.mkdtemp(prefix="recollect-citus-"))
    nodes: list[subprocess.Popen[bytes]] = []
    user = ACCOUNT if os.geteuid() == 0 else None
    if user is not None:
        account = pwd.getpwnam(user)
        os.chown(folder, account.pw_uid, account.pw_gid)
    try:
        ports = [find_port() for _ in range(NODES)]
        for port in ports:
            data = folder / str(port)
            initialize = [f"{programs}/initdb", "-U", SUPERUSER, "-A", "trust", "-E", "UTF8"]
            initialize += ["--locale=C.UTF-8", "--no-sync", "-D", str(data)]
            subprocess.run(initialize, check=True, stdout=subprocess.DEVNULL, user=user, cwd=folder)
            nodes.append(start([f"{programs}/postgres", "-D", str(data)], port, folder, user))
        for port in ports:
            wait_for(port, folder / f"{port}.log")
        yield ports
    finally:
        for data in folder.glob("*/postmaster.pid"):  # a test may have started one again
            with suppress(ProcessLookupError):
                os.kill(int(data.read_text().split()[0]), signal.SIGQUIT)
        for node in nodes:
            node.wait()
        shutil.rmtree(folder)


def start(
    command: Sequence[str], port: int, folder: Path, user: str | None
) -> subprocess.Popen[bytes]:
    values = {**CONFIGURATION, "port": str(port), "unix_socket_directories": str(folder)}
    options = [text for name, value in values.items() for text in ("-c", f"{name}={value}")]
    with (folder / f"{port}.log").open("wb") as log:
        environment = {"PATH": os.defpath, "HOME": str(folder)}  # the certificates of others
        return subprocess.Popen(
            [*command, *options], stderr=log, env=environment, user=user, cwd=folder
        )


def find_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_for(port: int, log: Path) -> None:
    """Wait until a node accepts connections; raise the driver's error if it never does."""
    for attempt in range(100):
        try:
            psycopg.connect(
                host="127.0.0.1", port=port, user=SUPERUSER, dbname="postgres", connect_timeout=10
            ).close()
        except psycopg.OperationalError:
            if attempt == 99:
                sys.stderr.write(log.read_text(errors="replace"))
                raise
            time.sleep(0.1)
        else:
            return


def refuse(reason: str) -> int:
    sys.stderr.write(f"{reason}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
