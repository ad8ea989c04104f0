"""What only a real process shows: pipes, signals, what a start takes, and who typed the command."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.processes import COMMAND, environment
from tests.serving import Running
from tests.shells.cli.commands import Cli, client_of
from tests.waiting import SECONDS, wait_until

pytestmark = pytest.mark.usefixtures("real_processes")


def test_the_console_script_and_the_module_are_one_command(cli: Cli) -> None:
    done = cli.process("remember", "--json", input="from a pipe 🎉".encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["content"] == "from a pipe 🎉"


@pytest.mark.parametrize("command", [("list", "--json"), ("list", "--help")])
def test_a_reader_that_leaves_early_is_no_error(cli: Cli, command: tuple[str, ...]) -> None:
    cli.json("remember", "a text of some length " * 300)
    with subprocess.Popen(
        [*COMMAND, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**cli.variables),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(SECONDS) == 0


@pytest.mark.parametrize(
    "command", [("remember", "x"), ("list", "--json"), ("export",), ("--help",), ("keys", "-h")]
)
def test_a_full_disk_behind_stdout_is_reported(cli: Cli, command: tuple[str, ...]) -> None:
    cli.json("remember", "a text")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, *command],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            env=environment(**cli.variables),
            timeout=SECONDS,
        )
    assert done.returncode == 1
    assert b"could not be written to stdout (No space left on device)" in done.stderr


def test_closed_streams_are_no_error(cli: Cli) -> None:
    script = (
        "import os, sys; [os.close(number) for number in (0, 1, 2)]\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'recollect.main', *sys.argv[1:]])"
    )
    codes = [
        subprocess.run(
            [sys.executable, "-c", script, *command],
            check=False,
            env=environment(**cli.variables),
            timeout=SECONDS,
        ).returncode
        for command in (("remember", "x"), ("list", "--json"), ("export",), ("remember",))
    ]
    assert codes == [0, 0, 0, 2]


def test_ctrl_c_is_130_and_says_nothing(cli: Cli) -> None:
    with subprocess.Popen(
        [*COMMAND, "remember"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**cli.variables),
        # A run in the background inherits an ignored SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert process.stdin is not None
        # It waits for stdin once it has asked the interpreter for it; a signal sent earlier would
        # meet Python's own start-up.
        _wait_until_reading(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out, err) == (130, b"", b"")


@pytest.mark.parametrize(
    ("module", "command"),
    [("recollect.shells.cli.memory.listing", "list"), ("recollect.shells.cli.app", "keys")],
)
def test_ctrl_c_while_the_command_is_imported_says_nothing(
    cli: Cli, module: str, command: str
) -> None:
    script = (
        "import signal, sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == '{module}':\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        f"sys.argv = ['recollect', '{command}']\n"
        "from recollect.main import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        check=False,
        env=environment(**cli.variables),
        timeout=SECONDS,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def _wait_until_reading(pid: int) -> None:
    """Wait until the process is blocked in read(0, …): system call 0 or 63, file descriptor 0."""

    def is_reading() -> bool:
        call = Path(f"/proc/{pid}/syscall").read_text().split()
        return call[:1] in (["0"], ["63"]) and call[1] == "0x0"

    wait_until(is_reading)


DRAFT = ("remember", "Use British spelling in the docs.", "--category", "preference", "--json")


def type_command(cli: Cli, *arguments: str) -> dict[str, object]:
    person, terminal = pty.openpty()
    try:
        done = subprocess.run(
            [*COMMAND, *arguments],
            stdin=terminal,
            capture_output=True,
            env=environment(**cli.variables),
            timeout=SECONDS,
            check=True,
        )
    finally:
        os.close(person)
        os.close(terminal)
    memory: dict[str, object] = json.loads(done.stdout)
    return memory


def test_a_typed_command_stands_for_the_user(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    piped = json.loads(cli.process(*DRAFT, "--tag", "standing").stdout)
    assert (piped["tags"], piped["changed_by"]) == ([], "cli")
    typed = type_command(cli, *DRAFT)
    assert (typed["id"], typed["tags"]) == (piped["id"], ["standing"])


def test_a_server_knows_it_too(server: Running, tmp_path: Path) -> None:
    cli = client_of(server, tmp_path)
    assert cli.json(*DRAFT[:-1], "--tag", "standing")["tags"] == []
    typed = type_command(cli, *DRAFT[:1], "Use tabs in Go files.", *DRAFT[2:])
    assert typed["tags"] == ["standing"]
