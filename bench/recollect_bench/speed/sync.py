"""Measure working offline: the rate of offline writes and the time to catch up, each compared with
writing directly to the server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from uuid import UUID

from recollect.adapters.http.client import RemoteService
from recollect.core.memory.memory import Draft
from recollect.core.memory.project import Into, Renamed
from recollect.core.sync.model import ChangePage, Outgoing, Pushed, Revision
from recollect.ports.sync import SyncServer
from recollect.settings import Settings, load
from recollect.usecases.sync.sync import sync
from recollect.wiring.local import Cached, open_cached

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class SyncReport:
    """Seconds and requests; the ratios are relative to writing directly to the server."""

    writes: int
    straight_writes: int
    straight_seconds: float
    offline_seconds: float
    push_seconds: float
    push_requests: int
    pull_seconds: float
    pull_requests: int

    def as_dict(self) -> dict[str, float]:
        straight = self.straight_writes / self.straight_seconds
        offline = self.writes / self.offline_seconds
        pushed = self.writes / self.push_seconds
        return {
            "writes": self.writes,
            "straight_writes_per_second": straight,
            "offline_writes_per_second": offline,
            "offline_to_straight": offline / straight,
            "catch_up_seconds": self.push_seconds,
            "catch_up_writes_per_second": pushed,
            "catch_up_to_straight": pushed / straight,
            "requests_per_synced_write": self.push_requests / self.writes,
            "first_sync_seconds": self.pull_seconds,
            "first_sync_requests": self.pull_requests,
        }


class _CountingServer:
    """A server whose requests are counted."""

    def __init__(self, inner: SyncServer) -> None:
        self._inner = inner
        self.requests = 0

    async def push(
        self,
        store: UUID,
        items: Sequence[Outgoing],
        revisions: Sequence[Revision],
        epoch: UUID | None = None,
    ) -> Pushed:
        self.requests += 1
        return await self._inner.push(store, items, revisions, epoch)

    async def pull(self, store: UUID, cursor: int, limit: int, *, count: bool) -> ChangePage:
        self.requests += 1
        return await self._inner.pull(store, cursor, limit, count=count)

    async def rename_project(self, project: str, name: str, into: Into = "any") -> Renamed:
        self.requests += 1
        return await self._inner.rename_project(project, name, into)


async def measure(
    url: str, key: str, folder: Path, writes: int, straight: int, progress: Progress
) -> SyncReport:
    """Write directly, then offline, then catch up, then pull everything into a second store."""
    async with RemoteService(url, key) as remote:
        started = perf_counter()
        for number in range(straight):
            await remote.remember(_draft(number))
            progress("straight to the server", number + 1, straight)
        straight_seconds = perf_counter() - started
    async with open_cached(_settings(folder / "one", url, key)) as one:
        started = perf_counter()
        for number in range(writes):
            await one.service.remember(_draft(number))
            progress("offline", number + 1, writes)
        offline_seconds = perf_counter() - started
        push_seconds, push_requests = await _time_sync(one, "catching up", writes, progress)
    async with open_cached(_settings(folder / "two", url, key)) as two:
        total = writes + straight
        pull_seconds, pull_requests = await _time_sync(two, "first sync elsewhere", total, progress)
    return SyncReport(
        writes,
        straight,
        straight_seconds,
        offline_seconds,
        push_seconds,
        push_requests,
        pull_seconds,
        pull_requests,
    )


async def _time_sync(
    cached: Cached, what: str, total: int, progress: Progress
) -> tuple[float, int]:
    counted = _CountingServer(cached.server)
    done = 0

    def report(_direction: str, number: int, _left: int | None) -> None:
        nonlocal done
        done = min(done + number, total)
        progress(what, done, total)

    started = perf_counter()
    await sync(cached.sync, counted, cached.clock, report)
    return perf_counter() - started, counted.requests


def _settings(home: Path, url: str, key: str) -> Settings:
    return load(home=home, api_url=url, api_key=key)


def _draft(number: int) -> Draft:
    content = f"On day {number} the harbour master noted {number * 7919 % 10_007} ships at anchor."
    return Draft(content, tags=("harbour", f"day-{number % 100}"), importance=number % 10 / 10)
