"""Does `halfvec` work on this processor? Asked once, where a crash costs nothing.

Some builds of pgvector use instructions this processor may lack; Postgres then dies on the first
distance and takes every session with it. The question is asked in a throw-away cluster, and anew
when the binaries or the processor change.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic, sleep

import psycopg

from recollect.adapters.postgres.embedded.account import Account
from recollect.adapters.postgres.embedded.cluster import Binaries, Cluster
from recollect.adapters.postgres.embedded.output import crash_in, newest_log
from recollect.adapters.postgres.embedded.passwords import SUPERUSER

_SECONDS = 60.0
_LOG_SECONDS = 30.0
_POLL_SECONDS = 0.03


@dataclass(frozen=True)
class Verdict:
    """What was found, and about what; kept in `probe.json`."""

    binaries: str
    processor: str
    postgres: str
    pgvector: str
    available: bool
    reason: str


# Gets the URL of a throw-away cluster; whatever it raises, or a crash it causes, means "no".
Probe = Callable[[str], None]

# Enough rows for more than one page and level of the index; every distance the store uses.
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
    """Build and use an HNSW index over halfvec; raise when an answer is wrong."""
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


def verdict_on(binaries: Binaries, folder: Path, account: Account, probe: Probe) -> Verdict:
    """The verdict kept in `folder`, or a new one when it is about something else."""
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
    """The machine's processor and its instructions, as one comparable text."""
    facts = {"machine": platform.machine(), "name": platform.processor()}
    cpuinfo = Path("/proc/cpuinfo")
    for line in cpuinfo.read_text().splitlines() if cpuinfo.exists() else ():
        name, _, value = line.partition(":")
        # x86 says model name and flags; arm says implementer, part and Features.
        if name.strip() in ("model name", "flags", "CPU implementer", "CPU part", "Features"):
            facts[name.strip()] = value.strip()
    instructions = facts.pop("flags", "") + facts.pop("Features", "")
    digest = hashlib.sha256(instructions.encode()).hexdigest()[:12]
    return " ".join([*filter(None, facts.values()), f"instructions {digest}"])


def _read(file: Path) -> Verdict | None:
    try:
        return Verdict(**json.loads(file.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None  # none yet, cut short, or written by another release: ask again


def _ask(binaries: Binaries, folder: Path, account: Account, probe: Probe) -> Verdict:
    cluster = Cluster(folder, binaries, account)
    cluster.destroy()  # one that a killed process left behind
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
    """What the log says of a lost connection. It is told to the logger by the server that outlives
    the crash, so the line may come a moment after the client has noticed.
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
