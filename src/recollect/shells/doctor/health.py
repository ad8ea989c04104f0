"""The checks of `doctor` besides the stores: disk, permissions, clock, key, sync, agents, speed."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Final
from urllib.parse import quote

from recollect.core.admin.checks import Check
from recollect.core.errors import RecollectError
from recollect.core.privacy.keys import PREFIX
from recollect.core.recall.request import RecallRequest
from recollect.core.sync.model import SyncStatus
from recollect.core.text.analysis import counted
from recollect.settings import Settings

_GROUP_AND_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_MAX_SKEW: Final = timedelta(minutes=5)
_MIN_NOW: Final = datetime(2025, 1, 1, tzinfo=UTC)
_RUNS: Final = 5
_QUERY: Final = "what was decided about the release, and why"
_HOOK_SECONDS: Final = 60


def check_room(home: Path, *, warn_below: int = 500_000_000, fail_below: int = 20_000_000) -> Check:
    """Check that the disk of this home has enough free space."""
    nearest = next(folder for folder in (home, *home.absolute().parents) if folder.exists())
    free = shutil.disk_usage(nearest).free
    found = f"{free / 1e9:.1f} GB free on the disk of {home}"
    if free >= warn_below:
        return Check("room", "ok", found)
    remedy = f"Free some space on the disk of {nearest}, or set RECOLLECT_HOME to another disk."
    return Check("room", "fail" if free < fail_below else "warn", found, remedy)


def check_permissions(settings: Settings) -> Check:
    """Check that no other account can read the memories."""
    path = settings.sqlite_path
    files = [path, *path.parent.glob(f"{path.name}-*")] if path.exists() else []
    open_ones = [file for file in files if file.stat().st_mode & _GROUP_AND_OTHERS]
    if open_ones:
        names = " ".join(str(file) for file in open_ones)
        found = f"other accounts can read {names}"
        return Check("permissions", "warn", found, f"Run `chmod go-rwx {names}`.")
    return Check("permissions", "ok", "only the owner can read the memories")


def check_clock(settings: Settings, now: datetime) -> Check:
    """Check the clock: dates, recency and the sync log depend on it."""
    remedy = "Set the clock, or synchronize it (for example with `timedatectl set-ntp true`)."
    if now < _MIN_NOW:
        return Check("clock", "fail", f"the clock says {now:%Y-%m-%d}", remedy)
    try:
        newest = _read_newest(settings.sqlite_path) if settings.has_local_store else None
    except (OSError, sqlite3.Error):  # faults of the store are reported by its own check
        newest = None
    if newest is not None and newest > now + _MAX_SKEW:
        found = f"the clock says {_local_time(now)}, but a memory is from {_local_time(newest)}"
        return Check("clock", "warn", found, remedy)
    return Check("clock", "ok", _local_time(now))


def _read_newest(path: Path) -> datetime | None:
    if not path.exists():
        return None
    with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
        (value,) = connection.execute("SELECT max(updated_at) FROM memories").fetchone()
    return None if value is None else datetime.fromtimestamp(value / 1_000_000, UTC)


def check_key(settings: Settings) -> Check:
    """Check that a key is set, without showing any part of it."""
    remedy = "Set RECOLLECT_API_KEY to the key that `recollect keys create` printed on the server."
    if settings.api_key is None:
        return Check(
            "key", "fail", "RECOLLECT_API_URL is set, but RECOLLECT_API_KEY is not", remedy
        )
    text = settings.api_key.get_secret_value().strip()
    if not text.startswith(PREFIX):
        return Check("key", "warn", f"the key does not start with {PREFIX}", remedy)
    return Check("key", "ok", "a key is set; the `server` check shows whether it is accepted")


def _local_time(moment: datetime) -> str:
    return moment.astimezone().isoformat(" ", "minutes")


def check_sync(settings: Settings) -> Check:
    status = asyncio.run(_sync_status(settings))
    found = f"{counted(status.waiting, 'write')} waiting, "
    found += f"{counted(status.held, 'sensitive memory')} kept on this machine"
    last = status.last_sync_at
    found += f"; last synced {_local_time(last)}" if last else "; never synced yet"
    if status.last_error is not None:
        return Check("sync", "fail", f"{found}; {status.last_error}", status.remedy or "Try again.")
    if status.parked:
        remedy = "Run `recollect status` for the reasons, then `recollect sync --retry`."
        return Check("sync", "warn", f"{found}; {len(status.parked)} parked", remedy)
    if status.conflicts:
        remedy = "Run `recollect conflicts` and resolve each of them."
        return Check("sync", "warn", f"{found}; {counted(status.conflicts, 'conflict')}", remedy)
    return Check("sync", "ok", found)


async def _sync_status(settings: Settings) -> SyncStatus:
    from recollect.wiring.local import open_cached

    async with open_cached(settings) as cached:
        return await cached.sync.status()


def check_agents() -> Iterator[Check]:
    """Check for each client on this machine whether it starts Recollect."""
    from recollect.wiring.agents import find_installed

    for found in find_installed():
        name = found.client
        check = f"agent {name}"
        if found.status in ("installed", "plugin"):
            yield Check(check, "ok", f"installed: {found.detail}")
        elif found.status == "absent" and not found.is_found:
            continue
        elif found.status == "absent":
            yield Check(check, "ok", f"not installed; run `recollect install {name}` to install it")
        elif found.status == "twice":
            remedy = (
                f"Keep one: `recollect install {name} --uninstall` removes the user's, with "
                "`--scope project` those of this folder; or disable the plugin."
            )
            yield Check(check, "warn", f"every hook runs twice: {found.detail}", remedy)
        else:
            first = "Fix the file, then run" if found.status == "unclear" else "Run"
            remedy = f"{first} `recollect install {name}`; `--print` shows what to put there."
            yield Check(check, "warn", f"{found.status}: {found.detail}", remedy)


def check_speed(settings: Settings, *, full: bool) -> Check:
    """Compare the time of a recall with the budget of the hook before each prompt."""
    budget = settings.hook_budget_ms
    if settings.has_local_store and not settings.sqlite_path.exists():
        return Check("speed", "ok", "nothing is stored yet, so there is nothing to recall")
    warm = asyncio.run(_recall_times(settings))
    found = f"a recall takes {median(warm):.0f} ms (the hook's budget is {budget} ms)"
    slowest = median(warm)
    if full:
        cold = [_hook_time(settings) for _ in range(_RUNS)]
        found += f"; a hook including its process start takes {median(cold):.0f} ms"
        slowest = max(slowest, median(cold))
    if slowest <= budget:
        return Check("speed", "ok", found)
    remedy = (
        "Prompts are not delayed: the hook skips late results. To get results in time, "
        "raise RECOLLECT_HOOK_BUDGET_MS, or check whether the machine or the server is "
        "busy."
    )
    return Check("speed", "warn", found, remedy)


async def _recall_times(settings: Settings) -> list[float]:
    from recollect.wiring.local import open_service

    times: list[float] = []
    async with open_service(settings, by_meaning=False) as recollect:
        for _ in range(_RUNS):
            started = time.perf_counter()
            await recollect.recall(RecallRequest(_QUERY))
            times.append((time.perf_counter() - started) * 1000)
    return times


def _hook_time(settings: Settings) -> float:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "doctor", "prompt": _QUERY}
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "recollect.main", "hook", "recall"],
        input=json.dumps(event).encode(),
        capture_output=True,
        env={**os.environ, "RECOLLECT_HOME": str(settings.home)},
        timeout=_HOOK_SECONDS,
        check=False,
    )
    return (time.perf_counter() - started) * 1000


def report_failure(name: str, error: Exception) -> Check:
    """Report a check that raised an error as a finding, so that the others still run."""
    if isinstance(error, RecollectError):
        return Check(name, "fail", str(error), error.remedy)
    remedy = "Fix the cause named above; RECOLLECT_DEBUG=1 makes other commands show a traceback."
    return Check(name, "fail", f"the check failed ({type(error).__name__})", remedy)
