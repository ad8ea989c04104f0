"""Whatever goes wrong, a hook ends in time with exit code 0, prints a whole answer or nothing, and
logs the reason without quoting any text.
"""

from __future__ import annotations

import json
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.adapters.agents.agent import ScriptedAgent
from tests.loopback import Loopback, Status
from tests.processes import COMMAND, environment
from tests.shells.cli.commands import Cli
from tests.waiting import SECONDS

from recollect.adapters.files.hook_log import HookLog

pytestmark = pytest.mark.usefixtures("real_processes")

SECRET_PROMPT = "is the staging database up, zanzibar?"
EVENT = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": SECRET_PROMPT}


def hook(
    home: Path, data: bytes, name: str = "recall", **settings: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, "hook", name],
        input=data,
        capture_output=True,
        env=environment(RECOLLECT_HOME=str(home), **settings),
        timeout=SECONDS,
        check=False,
    )


def log(home: Path) -> str:
    return "\n".join(HookLog(str(home / "hooks")).last_lines(100))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    Cli(home).json("remember", "The staging database is read-only on Fridays, quagga.")
    return home


@contextmanager
def stalling() -> Iterator[str]:
    """Run a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def remote(url: str) -> dict[str, str]:
    return {"RECOLLECT_API_URL": url, "RECOLLECT_API_KEY": "rk_x", "RECOLLECT_SYNC": "off"}


def check_quiet_end(done: subprocess.CompletedProcess[bytes], home: Path, message: str) -> None:
    assert (done.returncode, done.stdout) == (0, b"")
    text = log(home)
    assert message in text
    for word in ("zanzibar", "quagga", "staging"):
        assert word not in text


@pytest.mark.parametrize("data", [b"", b"not json", b"[]", b'"x"', b"\xff\xfe", b'{"prompt": 7}'])
@pytest.mark.parametrize("name", ["recall", "capture"])
def test_events_that_say_nothing_are_answered_with_nothing(
    home: Path, data: bytes, name: str
) -> None:
    done = hook(home, data, name, RECOLLECT_HOOK_BUDGET_MS="60000")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_stalling_server_ends_at_the_time_limit(home: Path) -> None:
    with stalling() as url:
        settings = remote(url) | {"RECOLLECT_HOOK_BUDGET_MS": "1500"}
        done = hook(home, json.dumps(EVENT).encode(), **settings)
    assert (done.returncode, done.stdout) == (0, b"")
    assert "its budget" in log(home) or "StoreUnavailable" in log(home)


def test_a_stdin_that_is_never_closed_ends_at_the_time_limit(home: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "hook", "recall"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(RECOLLECT_HOME=str(home), RECOLLECT_HOOK_BUDGET_MS="300"),
    ) as process:
        assert process.wait(SECONDS) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b""
        assert process.stdin is not None
        process.stdin.close()
    assert "recall gave up to stay within its budget" in log(home)


def test_an_answer_that_is_out_is_logged_even_if_the_time_ends_before_the_rest(home: Path) -> None:
    code = """if True:
        import time
        from recollect.shells.hooks import recall, run
        recall.note_recalls = lambda *_: time.sleep(600)
        run.run(["recall"])
    """
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(EVENT).encode(),
        capture_output=True,
        env=environment(RECOLLECT_HOME=str(home), RECOLLECT_HOOK_BUDGET_MS="4000"),
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0
    assert "read-only on Fridays" in done.stdout.decode()
    assert "recall injected=1" in log(home)
    assert "gave up" not in log(home)


def test_a_locked_store_ends_at_the_time_limit_or_before(home: Path) -> None:
    with closing(sqlite3.connect(home / "memories.db", isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        done = hook(home, json.dumps(EVENT).encode(), RECOLLECT_HOOK_BUDGET_MS="2000")
        other.execute("ROLLBACK")
    assert done.returncode == 0
    # A writer does not block readers of a store in WAL mode: either is right.
    assert done.stdout == b"" or json.loads(done.stdout)["hookSpecificOutput"]


def test_the_local_store_answers_for_a_stopped_server(home: Path) -> None:
    settings = {"RECOLLECT_API_URL": "http://127.0.0.1:9", "RECOLLECT_API_KEY": "rk_x"}
    done = hook(home, json.dumps(EVENT).encode(), RECOLLECT_HOOK_BUDGET_MS="60000", **settings)
    assert "read-only on Fridays" in done.stdout.decode()
    assert "(without the server: StoreUnavailable, by words)" in log(home)


@pytest.mark.parametrize("answer", [200, 302, 401, 500])
def test_what_is_no_recollect_api_says_nothing(home: Path, answer: int) -> None:
    with Loopback("openai") as other:
        other.misbehave(Status(answer))
        settings = remote(other.base_url) | {"RECOLLECT_HOOK_BUDGET_MS": "60000"}
        done = hook(home, json.dumps(EVENT).encode(), **settings)
    check_quiet_end(done, home, "failed: StoreUnavailable")


def test_a_broken_store_and_broken_settings_say_nothing(home: Path) -> None:
    event = json.dumps(EVENT).encode()
    settings = {"RECOLLECT_HOOK_TOKENS": "many", "RECOLLECT_HOOK_BUDGET_MS": "60000"}
    check_quiet_end(hook(home, event, **settings), home, "failed: InvalidInput")
    check_quiet_end(hook(home, event, RECOLLECT_HOOK_BUDGET_MS="soon"), home, "")
    (home / "memories.db").write_bytes(b"SQLite format 3\x00 but no more")
    done = hook(home, event, RECOLLECT_HOOK_BUDGET_MS="60000")
    check_quiet_end(done, home, "failed: DatabaseError")


def test_a_home_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("no folder")
    done = hook(place, json.dumps(EVENT).encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_exit_code_two_is_never_used(home: Path) -> None:
    """Not even for an unknown hook: an agent would take it for a refusal."""
    done = hook(home, b"", "recal")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"choose one of: recall" in done.stderr
    assert hook(home, b"", "").returncode == 0


def test_hooks_do_nothing_for_what_they_started_themselves(home: Path) -> None:
    done = hook(home, json.dumps(EVENT).encode(), RECOLLECT_CAPTURING="1")
    assert (done.returncode, done.stdout) == (0, b"")


def test_the_log_stays_small_and_is_its_owner_s_alone(tmp_path: Path) -> None:
    log_file = HookLog(str(tmp_path / "hooks"))
    for number in range(4_000):
        log_file.write("recall", f"line {number} " + "x" * 200, 1.0)
    files = sorted((tmp_path / "hooks").iterdir())
    assert len(files) == 2
    assert sum(file.stat().st_size for file in files) < 500_000
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)


def test_a_home_that_a_hook_makes_is_its_owner_s_alone(tmp_path: Path) -> None:
    home = tmp_path / "made" / "home"
    HookLog(str(home / "hooks")).write("recall", "fine", 1.0)
    folders = [home.parent, home, home / "hooks"]
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o700] * 3


def test_no_process_outlives_a_capture(home: Path, tmp_path: Path) -> None:
    agent = ScriptedAgent(home, tmp_path)
    agent.ask("Remember that the build host is called orinoco.")
    agent.answer("Fine.")  # waits for the line that the work writes last
    assert "stored=1" in log(home)


def test_half_an_installation_does_not_stop_an_agent(home: Path, tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['recollect.shells.hooks.watchdog'] = None;"
        " sys.argv = ['r', 'hook', 'recall']"
        "\nfrom recollect.main import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=b"{}",
        capture_output=True,
        env=environment(RECOLLECT_HOME=str(home)),
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
