"""Progress of long work: bars on a terminal, and a few lines elsewhere."""

from __future__ import annotations

import asyncio
import io
import sys
from uuid import UUID

import pytest
import structlog
from tests.usecases.queues import InMemoryQueue, Model

from recollect.core.errors import ModelUnavailable
from recollect.core.recall.space import EmbeddingProgress, StoredSpace
from recollect.shells.logs import log_embedding, log_steps
from recollect.shells.progress import embedding_bar, step_bar
from recollect.usecases.workers.backoff import BackoffEvent
from recollect.usecases.workers.embed import Embedded

pytestmark = pytest.mark.anyio

SPACE = StoredSpace(1, "m", Model("m").space, "active")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Replace stderr by a terminal. As a fixture, pytest would undo it before the test."""
    shown = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", shown)
    return shown


def test_steps_are_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_a_terminal(monkeypatch)
    with step_bar() as step:
        step("fetching [the] model", 0.5)
    assert "fetching [the] model" in terminal.getvalue()
    assert "50%" in terminal.getvalue()


def test_steps_are_a_line_each_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    with step_bar() as step:
        for share in (0.0, 0.5, 1.0):
            step("fetching", share)
        step("building", 0.0)
    assert capsys.readouterr().err == "fetching …\nbuilding …\n"


async def test_a_backlog_is_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_a_terminal(monkeypatch)

    class Watched(InMemoryQueue):
        async def progress(self, space: StoredSpace, owner: str | None = None) -> EmbeddingProgress:
            looked.set()
            return await super().progress(space, owner)

    looked = asyncio.Event()

    queue = Watched({UUID(int=number): "text" for number in range(1234)})
    await queue.open_space("m", SPACE.space)
    async with embedding_bar(queue):
        await looked.wait()
        await asyncio.sleep(0)
    assert "0 of 1,234" in terminal.getvalue()


def test_the_log_has_a_line_now_and_then_and_one_for_every_failure() -> None:
    clock = [0.0]
    with structlog.testing.capture_logs() as lines:
        tell = log_embedding(lambda: clock[0])
        for clock[0] in (0.0, 1.0, 2.0, 11.0, 12.0):
            tell(Embedded(SPACE, 10, (UUID(int=1),)))
        tell(BackoffEvent("m@1/2", ModelUnavailable("gone", remedy="look"), 4.0))
        tell(BackoffEvent("store", ModelUnavailable("gone", remedy="look"), 4.0))
    counted = [(line["memories"], line["failed"]) for line in lines if line["event"] == "embedded"]
    assert counted == [(10, 1), (30, 3)]
    troubles = [(line["of"], line["reason"]) for line in lines if line["log_level"] == "warning"]
    assert troubles == [("m@1/2", "gone"), ("store", "gone")]


def test_building_a_model_is_logged_by_quarters() -> None:
    with structlog.testing.capture_logs() as lines:
        step = log_steps()
        for hundredth in range(101):
            step("fetching", hundredth / 100)
        step("building", 0.0)
    steps = [(line["step"], line["percent"]) for line in lines]
    assert steps == [
        ("fetching", 0),
        ("fetching", 25),
        ("fetching", 50),
        ("fetching", 75),
        ("fetching", 100),
        ("building", 0),
    ]
