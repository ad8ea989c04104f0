"""Measure a server under load: many clients at once, and one quiet owner next to them.

Every client sends its next request as soon as the last one is answered or refused. So refusing does
not improve the figures: a server that is busy refusing answers no one. An answer counts as good if
it arrives within the time a client of Recollect waits for a recall. The client is a few lines over
asyncio streams, because a full one would need more CPU than the server.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from random import Random
from statistics import quantiles
from time import perf_counter
from typing import Final, Self
from urllib.parse import urlsplit

from recollect_bench.speed.corpus import KINDS, Corpus
from recollect_bench.speed.server import resident_mb

# A recall's default deadline, plus a client's allowance for the network.
DEADLINE: Final = 2.5
_TIMEOUT_SECONDS: Final = 10.0
_QUIET_PAUSE: Final = 0.5
_QUIET_MEMORIES: Final = 100
_SEEDERS: Final = 8
_REFUSALS: Final = (429, 503)
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured: the number of clients at each step; `writes` is the share of requests that
    store a memory. `polite` clients honor Retry-After.
    """

    clients: tuple[int, ...]
    seconds: float
    writes: float
    memories: int
    neighbour: bool
    polite: bool


@dataclass(frozen=True, slots=True)
class Target:
    """A running server, with the key that all clients share and that of the quiet owner."""

    url: str
    key: str
    quiet_key: str
    pid: int


@dataclass(slots=True)
class Tally:
    """Counts of some clients' requests by outcome; `good` has the seconds of each good recall."""

    good: list[float] = field(default_factory=list)
    written: int = 0
    late: int = 0
    refused: int = 0
    failed: int = 0

    @property
    def asked(self) -> int:
        return len(self.good) + self.written + self.late + self.refused + self.failed

    def count(self, status: int, seconds: float, *, is_write: bool) -> None:
        if status in _REFUSALS:
            self.refused += 1
        elif status not in (200, 201):
            self.failed += 1
        elif seconds > DEADLINE:
            self.late += 1
        elif is_write:
            self.written += 1
        else:
            self.good.append(seconds)


@dataclass(frozen=True, slots=True)
class Step:
    """One number of clients. Rates are per second; `quiet_*` is the quiet owner. `memory_mb` is the
    server's memory after each quarter of the time.
    """

    clients: int
    recalls_per_s: float
    writes_per_s: float
    p50_ms: float | None
    p95_ms: float | None
    refused: int
    late: int
    failed: int
    quiet_asked: int
    quiet_served: int
    quiet_p95_ms: float | None
    memory_mb: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class LoadReport:
    plan: Plan
    steps: tuple[Step, ...]

    def share_of_best(self, step: Step) -> float:
        best = max(step.recalls_per_s for step in self.steps)
        return step.recalls_per_s / best if best else 0.0

    def as_dict(self) -> dict[str, object]:
        steps = [{**asdict(step), "share_of_best": self.share_of_best(step)} for step in self.steps]
        return {"plan": asdict(self.plan), "deadline_s": DEADLINE, "steps": steps}


class _Client:
    """One connection, reopened when it is lost."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._key = key
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._streams is not None:
            self._streams[1].close()
            with suppress(OSError):
                await self._streams[1].wait_closed()
            self._streams = None

    async def post(self, path: str, body: object) -> tuple[int, float]:
        """Send a request; return the status, 0 without an answer, and the Retry-After seconds."""
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                return await self._send(path, json.dumps(body).encode())
        except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
            await self.__aexit__()
            return 0, 0.0

    async def _send(self, path: str, body: bytes) -> tuple[int, float]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        head = (
            f"POST /api/v1/{path} HTTP/1.1\r\nHost: {self._host}\r\n"
            f"Authorization: Bearer {self._key}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        await reader.readexactly(int(headers["content-length"]))
        if headers.get("connection", "").lower() == "close":
            await self.__aexit__()
        return int(first.split()[1]), float(headers.get("retry-after", "0"))


async def measure(target: Target, plan: Plan, corpus: Corpus, progress: Progress) -> LoadReport:
    """Seed both owners, then run each number of clients for its time."""
    texts = [memory.content for memory in corpus.memories(0, plan.memories)]
    await _seed(target.url, target.key, texts, progress)
    await _seed(target.url, target.quiet_key, texts[:_QUIET_MEMORIES], progress)
    questions = corpus.queries(KINDS[1], 200, plan.memories)
    steps = []
    for number, clients in enumerate(plan.clients):
        progress(f"{clients} clients", number, len(plan.clients))
        steps.append(await _step(target, plan, clients, questions))
    return LoadReport(plan, tuple(steps))


async def _seed(url: str, key: str, texts: Sequence[str], progress: Progress) -> None:
    remaining = list(texts)

    async def store() -> None:
        async with _Client(url, key) as client:
            while remaining:
                status, _ = await client.post("memories", {"content": remaining.pop()})
                if status != 201:
                    raise RuntimeError(f"the server answered {status} while it was filled")
                progress("storing", len(texts) - len(remaining), len(texts))

    await asyncio.gather(*(store() for _ in range(_SEEDERS)))


async def _step(target: Target, plan: Plan, clients: int, questions: Sequence[str]) -> Step:
    until = perf_counter() + plan.seconds
    noisy, quiet = Tally(), Tally()
    work = [
        _ask(_Client(target.url, target.key), plan, Random(number), questions, noisy, until)
        for number in range(clients)
    ]
    if plan.neighbour:
        work.append(_ask_quietly(_Client(target.url, target.quiet_key), questions, quiet, until))
    memory, _ = await asyncio.gather(_watch_memory(target.pid, plan.seconds), asyncio.gather(*work))
    p50, p95 = _percentiles(noisy.good)
    return Step(
        clients=clients,
        recalls_per_s=round(len(noisy.good) / plan.seconds, 1),
        writes_per_s=round(noisy.written / plan.seconds, 1),
        p50_ms=p50,
        p95_ms=p95,
        refused=noisy.refused,
        late=noisy.late,
        failed=noisy.failed,
        quiet_asked=quiet.asked,
        quiet_served=len(quiet.good),
        quiet_p95_ms=_percentiles(quiet.good)[1],
        memory_mb=memory,
    )


async def _watch_memory(pid: int, seconds: float) -> tuple[float, ...]:
    found = []
    for _ in range(4):
        await asyncio.sleep(seconds / 4)
        found.append(resident_mb(pid))
    return tuple(found)


async def _ask(
    client: _Client,
    plan: Plan,
    random: Random,
    questions: Sequence[str],
    tally: Tally,
    until: float,
) -> None:
    async with client:
        while (started := perf_counter()) < until:
            question = random.choice(questions)
            is_write = random.random() < plan.writes
            if is_write:
                status, delay = await client.post("memories", {"content": f"noted: {question}"})
            else:
                status, delay = await client.post("recall", {"query": question})
            tally.count(status, perf_counter() - started, is_write=is_write)
            if plan.polite and status in _REFUSALS:
                await asyncio.sleep(delay * (1 + random.random()))


async def _ask_quietly(
    client: _Client, questions: Sequence[str], tally: Tally, until: float
) -> None:
    """Recall every half second, like a person who works during the load."""
    async with client:
        number = 0
        while (started := perf_counter()) < until:
            status, _ = await client.post("recall", {"query": questions[number % len(questions)]})
            took = perf_counter() - started
            tally.count(status, took, is_write=False)
            number += 1
            await asyncio.sleep(max(_QUIET_PAUSE - took, 0.0))


def _percentiles(seconds: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the median and the 95th percentile, in milliseconds."""
    if not seconds:
        return None, None
    cuts = quantiles(seconds, n=20, method="inclusive") if len(seconds) > 1 else [seconds[0]] * 19
    return round(1000 * cuts[9], 1), round(1000 * cuts[18], 1)
