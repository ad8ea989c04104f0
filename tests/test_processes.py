"""A forked command is like one in a process of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.processes import COMMAND, Forking, environment, program
from tests.waiting import SECONDS, wait_until

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux hands over children: run `make test` there"
)


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    return environment(RECOLLECT_HOME=str(tmp_path / "home"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("list", "--json"),
        ("show", "01890a5d"),
        ("remember", "--help"),
        ("no such command",),
    ],
)
def test_it_prints_and_ends_the_same(
    arguments: tuple[str, ...],
    variables: dict[str, str],
    forking: Forking,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run() -> tuple[int, bytes, bytes]:
        done = subprocess.run(
            [*COMMAND, *arguments], env=variables, capture_output=True, stdin=subprocess.DEVNULL
        )
        return done.returncode, done.stdout, done.stderr

    forked = run()
    monkeypatch.setattr(forking, "is_on", False)
    assert run() == forked


def test_it_has_the_files_folder_and_session_that_it_is_given(
    variables: dict[str, str], tmp_path: Path
) -> None:
    with subprocess.Popen(
        [*COMMAND, "remember"],
        cwd=tmp_path,
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        wait_until(lambda: os.getsid(process.pid) == process.pid)
        wait_until(lambda: Path(f"/proc/{process.pid}/cwd").readlink() == tmp_path)
        assert process.communicate("from a pipe 🎉".encode(), timeout=SECONDS)[0] != b""
        assert process.returncode == 0
    listed = subprocess.run([*COMMAND, "list", "--json"], env=variables, stdout=subprocess.PIPE)
    assert "from a pipe 🎉" in listed.stdout.decode()


@pytest.mark.parametrize(
    ("code", "status", "output"),
    [
        ("print(sys.argv, __name__)", 0, b"['-c', 'one'] __main__\n"),
        ("raise SystemExit(7)", 7, b""),
        ("from tests.waiting import SECONDS; raise ValueError", 1, b""),
    ],
)
def test_a_program_runs(code: str, status: int, output: bytes, variables: dict[str, str]) -> None:
    done = subprocess.run(program(code, "one"), env=variables, capture_output=True)
    assert (done.returncode, done.stdout) == (status, output)
    assert (b"ValueError" in done.stderr) == (status == 1)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_signal_ends_it(how: signal.Signals, variables: dict[str, str]) -> None:
    with subprocess.Popen([*COMMAND, "remember"], env=variables, stdin=subprocess.PIPE) as process:
        process.send_signal(how)
        assert process.wait(SECONDS) == -how


@pytest.mark.anyio
async def test_asyncio_waits_for_it(variables: dict[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *COMMAND, "--version", env=variables, stdout=subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    assert out.startswith(b"recollect ")


def test_what_the_interpreter_reads_at_its_start_gets_a_new_one(variables: dict[str, str]) -> None:
    done = subprocess.run(
        [*COMMAND, "--version"],
        env={**variables, "PYTHONPROFILEIMPORTTIME": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert b"import time:" in done.stderr
