"""The cost of a server: how long it takes to start, and how much memory it uses with its model.

Both are measured on a real `recollect serve` in a separate process, which starts its own Postgres
on the store that was just measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from recollect.adapters.postgres.embedded import EmbeddedPostgres
from recollect.adapters.postgres.embedded.locations import find_postmaster
from recollect.core.admin.modes import NO_EMBEDDER
from recollect.core.errors import RecollectError
from recollect.settings import Settings
from recollect_bench.speed.corpus import OWNER

_MODULE: Final = (sys.executable, "-m", "recollect.main")
_COMMAND: Final = (*_MODULE, "serve", "--json")
_TIMEOUT_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class ServerCost:
    """`start_up_s`: from the start of the process to its first healthy answer. `model_ready_s`: to
    the first recall that the dense leg answered, too. After a few such recalls, `resident_mb` is
    the memory of the server's own process, and `with_postgres_mb` that of the server and its
    Postgres, with shared memory counted once (None where the system does not report it).
    """

    embedder: str
    start_up_s: float
    model_ready_s: float | None
    resident_mb: float
    with_postgres_mb: float | None = None


def measure_server(
    home: Path, yours: Settings, embedder: str, questions: Sequence[str]
) -> ServerCost:
    """Measure a server on `home`, a filled store whose Postgres is stopped, with the models of
    `yours`.
    """
    variables = variables_of(home, yours, embedder)
    started = time.perf_counter()
    with run_server(home, variables) as (process, ready):
        headers = {"Authorization": f"Bearer {ready['key']}"}
        base = f"{ready['url']}/api/v1/"
        with httpx.Client(
            base_url=base, headers=headers, timeout=_TIMEOUT_SECONDS, trust_env=False
        ) as client:
            client.get("health/ready").raise_for_status()
            healthy = time.perf_counter() - started
            with_model = None
            if embedder != NO_EMBEDDER:
                _wait_until_dense_answers(client, questions[0])
                with_model = round(time.perf_counter() - started, 2)
            for question in questions:
                client.post("recall", json={"query": question}).raise_for_status()
        return ServerCost(
            embedder,
            round(healthy, 2),
            with_model,
            resident_mb(process.pid),
            proportional_mb([process.pid, *postgres_pids(home)]),
        )


def variables_of(home: Path, yours: Settings, embedder: str) -> dict[str, str]:
    """Return the environment of a server that uses only this home, with the models of `yours`."""
    return {
        "RECOLLECT_HOME": str(home),
        "RECOLLECT_MODELS": str(yours.models_folder),
        "RECOLLECT_EMBEDDER": embedder,
        "RECOLLECT_OWNER": OWNER,
        "RECOLLECT_WORKER": "inside",
        "RECOLLECT_HOST": "127.0.0.1",
        "RECOLLECT_PORT": "0",
        # An empty variable counts as unset.
        "RECOLLECT_DATABASE_URL": "",
        "RECOLLECT_API_URL": "",
        "RECOLLECT_RERANKER": "",
    }


def new_key(variables: Mapping[str, str], owner: str) -> str:
    """Create a key for another owner on a server that runs with these variables."""
    done = subprocess.run(  # noqa: S603  # our own command
        (*_MODULE, "keys", "create", "--owner", owner, "--json"),
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return str(json.loads(done.stdout)["key"])


def wait_for_dense(url: str, key: str) -> None:
    """Wait until the model is ready."""
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(
        base_url=f"{url}/api/v1/", headers=headers, timeout=_TIMEOUT_SECONDS, trust_env=False
    ) as client:
        _wait_until_dense_answers(client, "anything")


@contextmanager
def run_server(
    home: Path, variables: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen[str], Mapping[str, Any]]]:
    log = home / "serve.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(  # noqa: S603  # our own command
            _COMMAND,
            env={**os.environ, **variables},
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,  # Ctrl-C must reach only us; we stop the server
        ) as process,
    ):
        try:
            ready = process.stdout.readline() if process.stdout else ""
            if not ready:
                raise RecollectError(
                    f"the measured server exited: {log.read_text()[-500:].strip()}",
                    remedy="Run `recollect serve` and `recollect doctor` to find out why.",
                )
            yield process, json.loads(ready)
        finally:
            process.terminate()
            process.wait()


def _wait_until_dense_answers(client: httpx.Client, question: str) -> None:
    limit = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        asked = {"query": question, "explain": True}
        answer = client.post("recall", json=asked).raise_for_status().json()
        dense = answer["legs"]["dense"]
        if dense["status"] == "ran":
            return
        if time.monotonic() > limit:
            raise RecollectError(
                f"the dense leg of the measured server did not answer: {dense}",
                remedy="Run `recollect doctor`, or measure with --no-dense.",
            )
        time.sleep(_POLL_SECONDS)


def resident_mb(pid: int) -> float:
    """Return a process's resident memory, from /proc or `ps`; 0 if it has ended."""
    if Path("/proc/self/status").exists():
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            lines = []
        kilobytes = next((line.split()[1] for line in lines if line.startswith("VmRSS:")), "0")
    else:
        command = ["ps", "-o", "rss=", "-p", str(pid)]
        kilobytes = subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603  # a number of our own
    return round(int(kilobytes or 0) / 1024, 1)


def postgres_pids(home: Path) -> list[int]:
    """Return the pids of this home's embedded Postgres and its child processes."""
    postmaster = find_postmaster(EmbeddedPostgres(home).folder / "data")
    if postmaster is None or not Path("/proc/self/stat").exists():
        return []
    pids = [int(found.name) for found in Path("/proc").iterdir() if found.name.isdigit()]
    return [postmaster, *(pid for pid in pids if _parent(pid) == postmaster)]


def _parent(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # it has ended
        return None
    return int(stat.rpartition(")")[2].split()[1])


def proportional_mb(pids: Sequence[int]) -> float | None:
    """Return the memory of several processes together, with shared memory counted once."""
    kilobytes = 0
    for pid in pids:
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:  # not Linux, not ours to read, or it has ended
            return None
        kilobytes += int(
            next(line for line in rollup.splitlines() if line[:4] == "Pss:").split()[1]
        )
    return round(kilobytes / 1024, 1)
