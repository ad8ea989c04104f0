"""Prompts that a person leaves: Ctrl-C ends the command, Ctrl-D declines or ends the review."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.processes import COMMAND, environment
from tests.shells.cli.commands import Cli
from tests.waiting import SECONDS

OLD = "The API runs on port 8000"
NEW = "The API moved to port 9000"
CTRL_D = b"\x04"


@pytest.fixture
def proposed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Return the command on a store with two proposals."""
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")
    monkeypatch.setenv("RECOLLECT_CURATION", "propose")
    for text in (OLD, NEW, "The cache has 4 shards", "The cache now has 8 shards"):
        cli("remember", text)
    cli("worker", "--once", "--local")
    assert len(cli.json("proposals")["proposals"]) == 2
    return cli


@contextmanager
def prompted(cli: Cli, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run a command up to its first prompt; yield it and the terminal it reads."""
    keyboard, terminal = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**cli.variables),
    )
    os.close(terminal)
    try:
        assert process.stderr is not None
        output = b""
        while not output.endswith(b": "):
            byte = process.stderr.read(1)
            assert byte, output
            output += byte
        yield process, keyboard
    finally:
        process.kill()
        process.wait()
        os.close(keyboard)


def commands(cli: Cli) -> list[tuple[str, ...]]:
    id = cli.json("remember", "The harbour is shallow")["id"]
    return [("review",), ("forget", id, "--forever"), ("erase", "--owner", "me")]


@pytest.mark.parametrize("which", range(3))
def test_ctrl_c_ends_the_command_quietly(proposed: Cli, which: int) -> None:
    with prompted(proposed, *commands(proposed)[which]) as (process, _):
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert errors == b""
    assert proposed.json("status")["stats"]["memories"] == 5


@pytest.mark.parametrize("which", [1, 2])
def test_ctrl_d_declines_a_confirmation(proposed: Cli, which: int) -> None:
    with prompted(proposed, *commands(proposed)[which]) as (process, keyboard):
        os.write(keyboard, CTRL_D)
        _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 1
    assert errors.endswith(b"nothing was erased\n")
    assert proposed.json("status")["stats"]["memories"] == 5


def test_ctrl_d_ends_the_review_and_keeps_what_was_decided(proposed: Cli) -> None:
    with prompted(proposed, "review") as (process, keyboard):
        os.write(keyboard, b"r\n" + CTRL_D)
        _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert b"unexpected" not in errors
    assert len(proposed.json("proposals")["proposals"]) == 1


def test_a_review_of_a_closed_input_ends_at_once(proposed: Cli) -> None:
    done = proposed("review", input="")
    assert (done.exit_code, "unexpected" in done.stderr) == (0, False)
    assert len(proposed.json("proposals")["proposals"]) == 2
