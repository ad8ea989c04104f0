"""A worker that is killed at any step, or loses its connection in one, loses nothing.

Postgres is real, and so are the processes, the signals and the connections that are cut.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.conformance.samples import memory
from tests.conformance.stores import opened
from tests.effort import sample
from tests.faults.steps import act_before_commit
from tests.loopback import Fault, Loopback, Spoiled, Status
from tests.processes import program
from tests.waiting import SECONDS

from recollect.adapters.models.embedders.catalogue import Account, Catalogue
from recollect.adapters.postgres.pool import Connection
from recollect.adapters.postgres.store import PostgresStore
from recollect.core.admin.timeouts import Timeouts
from recollect.core.errors import ModelUnavailable
from recollect.core.recall.space import Space
from recollect.usecases.workers.backoff import BackoffEvent
from recollect.usecases.workers.embed import BATCH, Embedded, EmbeddingContext
from recollect.usecases.workers.steps import EmbeddingStep, retry_parked
from recollect.usecases.workers.worker import Worker

pytestmark = pytest.mark.anyio

FINE = Spoiled()  # a correct answer
TEXTS = [f"memory number {place}" for place in range(40)]

# A worker that stops at a step, reports it, and waits to be killed. Claims expire after a second.
WORKER = """
import asyncio, sys
from pathlib import Path
from recollect.adapters.models.embedders.catalogue import Account, Catalogue
from recollect.adapters.postgres.pool import Connection
from recollect.adapters.postgres.store import PostgresStore
from recollect.core.admin.timeouts import Timeouts
from recollect.usecases.workers.embed import EmbeddingContext
from recollect.usecases.workers.steps import EmbeddingStep
from recollect.usecases.workers.worker import Worker
from tests.faults.steps import stop_at

url, base_url, step, moment = sys.argv[1:]
stop_at(step, moment, lambda: print("here", flush=True))

async def main():
    accounts = {"compatible": Account(None, base_url)}
    opened = PostgresStore(url, timeouts=Timeouts(lease=1.0))
    async with opened as store, Catalogue(Path("/"), accounts=accounts) as catalogue:
        context = EmbeddingContext(store.vectors, catalogue, "compatible/x@8")
        await Worker(EmbeddingStep(context)).run()

asyncio.run(main())
"""


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback("compatible") as started:
        yield started


def kill_worker_at(url: str, server: Loopback, step: str, moment: str) -> None:
    with subprocess.Popen(
        program(WORKER, url, server.base_url, step, moment),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGKILL)


async def remember(url: str, texts: Sequence[str]) -> None:
    async with PostgresStore(url) as store:
        await store.add_many([memory(number, text) for number, text in enumerate(texts, 1)])


async def work_off(url: str, server: Loopback) -> None:
    """Run the next worker, which retries at once what failed before."""
    accounts = {"compatible": Account(None, server.base_url)}
    async with (
        PostgresStore(url) as store,
        Catalogue(Path("/"), accounts=accounts) as catalogue,
    ):
        assert store.vectors is not None
        context = EmbeddingContext(store.vectors, catalogue, "compatible/x@8")
        await retry_parked(context)
        assert await Worker(EmbeddingStep(context)).work_off() == 0


def rows_in(url: str) -> list[tuple[bool, int, str | None]]:
    """Return for each job whether it has its vector, its attempts, and its error."""
    with psycopg.connect(url) as connection:
        found = "select vector is not null, attempts, last_error from embeddings"
        return connection.execute(found).fetchall()


@pytest.mark.parametrize(
    ("step", "moment"),
    sample(
        [
            ("finish", "inside"),
            ("open_space", "after"),
            ("sweep", "inside"),
            ("claim", "before"),
            ("claim", "after"),
            ("finish", "before"),
            ("finish", "after"),
        ]
    ),
)
async def test_a_worker_killed_at_any_step_loses_nothing_and_does_nothing_twice(
    database_url: str, server: Loopback, step: str, moment: str
) -> None:
    await remember(database_url, TEXTS)
    kill_worker_at(database_url, server, step, moment)
    await work_off(database_url, server)
    assert rows_in(database_url) == [(True, 0, None)] * len(TEXTS)
    sent = Counter(text for request in server.requests for text in request.body["input"])
    twice = BATCH if step == "finish" and moment != "after" else 0
    assert sorted(sent[text] for text in TEXTS) == [1] * (len(TEXTS) - twice) + [2] * twice


# After the first probe. One text is refused: the batch, a probe, one half, the other, a probe.
REFUSED: list[Fault] = [FINE, Status(400), FINE, FINE, Status(400), FINE]
# The model is down: the batch, and the probe that shows it.
AWAY: list[Fault] = [FINE, Status(401), Status(401)]


@pytest.mark.parametrize("moment", sample(["inside", "before", "after"]))
@pytest.mark.parametrize(("step", "faults"), [("fail", REFUSED), ("give_back", AWAY)])
async def test_a_worker_killed_while_it_records_a_failure_loses_nothing(
    database_url: str, server: Loopback, step: str, moment: str, faults: list[Fault]
) -> None:
    await remember(database_url, TEXTS[:2])
    server.misbehave(*faults)
    kill_worker_at(database_url, server, step, moment)
    rows = sorted(rows_in(database_url), key=str)
    counted = 0 if (step, moment) == ("give_back", "after") else 1
    if step == "fail":
        error = rows[0][2]
        assert rows == [(False, 1, error), (True, 0, None)]
        assert ("status 400" in str(error)) == (moment == "after")
    else:
        assert rows == [(False, counted, None)] * 2
    await work_off(database_url, server)
    assert rows_in(database_url) == [(True, 0, None)] * 2


@dataclass
class Moody:
    """An embedder and its factory in one: the first text fails once on its own, or everything does,
    or a callback runs meanwhile.
    """

    refuses: int = 0
    down: int = 0
    meanwhile: Callable[[], None] = lambda: None
    space: Space = Space("moody", "1", 2)  # noqa: RUF009  # it is frozen
    is_hosted: bool = True

    def at_once(self, texts: Sequence[str]) -> int:
        return len(texts)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.meanwhile()
        if self.down:
            self.down -= 1
            raise ModelUnavailable("away", remedy="Wait.")
        if self.refuses and TEXTS[0] in texts:
            self.refuses -= len(texts) == 1
            raise ValueError
        return [[1.0, 0.0] for _ in texts]

    async def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0]

    async def embedder(self, name: str) -> Moody:
        return self


async def run_worker(url: str, model: Moody) -> list[Embedded | BackoffEvent]:
    """Run a worker until all is embedded, and return its events; its claims expire at once."""
    events: list[Embedded | BackoffEvent] = []

    async with opened(url, timeouts=Timeouts(lease=0)) as (store, vectors):
        await store.add_many([memory(n, text) for n, text in enumerate(TEXTS[:5], 1)])
        context = EmbeddingContext(vectors, model, "moody")
        worker = Worker(EmbeddingStep(context, events.append), sleep=lambda _: asyncio.sleep(0))
        working = asyncio.create_task(worker.run())
        async with asyncio.timeout(SECONDS):
            while rows_in(url) != [(True, 0, None)] * 5:
                assert not working.done(), working
                await asyncio.sleep(0.01)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
    return events


@pytest.mark.parametrize(
    ("step", "moods"),
    [
        ("claim", {}),
        ("sweep", {}),
        ("finish", {}),
        ("fail", {"refuses": 1}),
        ("give_back", {"down": 2}),
    ],
)
async def test_a_worker_whose_connection_is_cut_in_the_midst_of_a_step_goes_on(
    database_url: str, monkeypatch: pytest.MonkeyPatch, step: str, moods: dict[str, Any]
) -> None:
    cut: list[int] = []

    async def cut_once(connection: Connection) -> None:
        if not cut:
            cut.append(connection.info.backend_pid)
            with psycopg.connect(database_url, autocommit=True) as other:
                other.execute("select pg_terminate_backend(%s, 60000)", cut)

    act_before_commit(step, cut_once, monkeypatch.setattr)
    events = await run_worker(database_url, Moody(**moods))
    assert cut
    assert any(isinstance(event, BackoffEvent) and event.of == "store" for event in events)


async def test_a_worker_that_loses_every_connection_while_its_model_works_goes_on(
    database_url: str,
) -> None:
    cut: list[Any] = []

    def lose() -> None:
        if not cut:
            with psycopg.connect(database_url, autocommit=True) as other:
                cut.extend(
                    other.execute(
                        "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
                        " where datname = current_database() and pid <> pg_backend_pid()"
                    ).fetchall()
                )

    await run_worker(database_url, Moody(meanwhile=lose))
    assert cut
