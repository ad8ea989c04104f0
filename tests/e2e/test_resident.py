"""One `recollect mcp` of a home holds the model: real processes, the real model, no server."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.effort import sample
from tests.processes import COMMAND, environment
from tests.shells.cli.commands import Cli, unhurried_home
from tests.waiting import wait_until

from recollect.adapters.files.hook_log import HookLog
from recollect.adapters.resident import socket_path
from recollect.adapters.resident.client import send_question
from recollect.core.admin.checks import WORDS_ONLY
from recollect.wire.hook_call import HookCall, HookReply

CAR = "My automobile is being repaired until Thursday"
VIOLIN = "The violin hangs in the study"
QUERY = "Who is fixing the car?"
UNHURRIED = {"RECOLLECT_HOOK_BUDGET_MS": "60000", "RECOLLECT_TIMEOUT_FACTOR": "60"}
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@dataclass
class Session:
    """A `recollect mcp` with the pipe of its client."""

    process: subprocess.Popen[bytes]
    requests: int = 0

    def request(self, method: str, params: dict[str, Any]) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.requests += 1
        message = {"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer
        return answer["result"]

    def call(self, tool: str, **arguments: Any) -> Any:
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        return answer["structuredContent"]

    def end(self) -> int:
        """As an agent ends it: by closing the pipe."""
        self.process.communicate()
        return self.process.returncode


@contextmanager
def session(home: Path, **settings: str) -> Iterator[Session]:
    """Run a session, which must print nothing to stderr."""
    variables = {"RECOLLECT_WORKER": "inside", **UNHURRIED, **settings}
    process = subprocess.Popen(
        [*COMMAND, "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(RECOLLECT_HOME=str(home), **variables),
    )
    opened = Session(process)
    try:
        opened.request("initialize", INITIALIZE)
        yield opened
        if process.returncode is None:
            assert process.communicate()[1] == b""
    finally:
        process.kill()
        process.communicate()


def is_listening(home: Path) -> bool:
    """Whether a process accepts connections; the socket of one that was killed refuses them."""
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(socket_path(str(home))) == 0


def count_embedded(home: Path) -> int:
    with closing(sqlite3.connect(home / "memories.db")) as connection:
        count = "SELECT count(*) FROM embeddings WHERE vector IS NOT NULL"
        (found,) = connection.execute(count).fetchone()
    return int(found)


def wait_for_model(home: Path, memories: int) -> None:
    wait_until(lambda: is_listening(home))
    wait_until(lambda: count_embedded(home) == memories)


def hook(
    home: Path,
    prompt: str = QUERY,
    cwd: str | None = None,
    session_id: str | None = None,
    called_in: str | None = None,
    **settings: str,
) -> str:
    """Run the hook in a folder and return what it prints."""
    event = {"prompt": prompt, "cwd": cwd, "session_id": session_id}
    done = subprocess.run(
        [*COMMAND, "hook", "recall", "--text"],
        input=json.dumps(event).encode(),
        capture_output=True,
        cwd=called_in,
        env=environment(RECOLLECT_HOME=str(home), **{**UNHURRIED, **settings}),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def start_hook(home: Path, prompt: str, **settings: str) -> subprocess.Popen[bytes]:
    """Start a hook that is watched while it runs."""
    process = subprocess.Popen(
        [*COMMAND, "hook", "recall", "--text"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(RECOLLECT_HOME=str(home), **settings),
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps({"prompt": prompt}).encode())
    process.stdin.close()
    return process


def last_log(home: Path) -> str:
    return HookLog(str(home / "hooks")).last_lines(1)[0]


def processes_of(home: Path) -> list[int]:
    """Return every process that was started for this home, by its environment."""
    mark = f"RECOLLECT_HOME={home}".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            variables = (place / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark in variables:
            found.append(int(place.name))
    return found


@pytest.fixture
def home(home_with_model: Path) -> Path:
    cli = Cli(unhurried_home(home_with_model))
    for text in (CAR, VIOLIN, "Soup is served at noon"):
        cli("remember", text)
    return home_with_model


@pytest.mark.usefixtures("real_processes")
def test_hook_and_command_are_answered_by_meaning(home: Path) -> None:
    assert CAR not in hook(home)
    assert "by words" in last_log(home)
    with session(home) as mcp:
        wait_for_model(home, 3)
        assert CAR in hook(home)
        assert "injected=1" in last_log(home)
        assert "by meaning" in last_log(home)
        assert VIOLIN not in hook(home, "Write a poem about the sea")
        assert stat.S_IMODE(Path(socket_path(str(home))).stat().st_mode) == 0o600
        found = mcp.call("memory_recall", query=QUERY, explain=True)
        assert found["hits"][0]["memory"]["content"] == CAR
        assert found["legs"]["dense"]["status"] == "ran"
        # A command does not load what another process holds.
        command = Cli(home).process(
            "recall", QUERY, "--explain", "--json", PYTHONPROFILEIMPORTTIME="1"
        )
        answer = json.loads(command.stdout)
        assert answer["hits"][0]["memory"]["content"] == CAR
        assert answer["legs"]["dense"]["status"] == "ran"
        imported = {line.rsplit(b"|")[-1].strip() for line in command.stderr.splitlines()}
        assert not imported & {b"numpy", b"onnxruntime", b"tokenizers"}
    assert not is_listening(home)
    assert not Path(socket_path(str(home))).exists()


def test_a_session_proposes_what_a_newer_memory_replaces(home: Path) -> None:
    with session(home) as mcp:
        wait_for_model(home, 3)
        mcp.call("memory_store", content="The violin hangs in the hall instead of the study")
        wait_until(lambda: mcp.call("memory_review")["proposals"] != [])
        (found,) = mcp.call("memory_review")["proposals"]
        assert (found["kind"], found["older_quote"]) == ("supersedes", VIOLIN)


@pytest.mark.usefixtures("real_processes")
def test_the_first_recall_of_a_session_waits_for_the_model(home: Path) -> None:
    with session(home):
        wait_for_model(home, 3)
    with ExitStack() as stack:
        # The second finds the lock taken, and waits for the model of the first.
        for mcp in [stack.enter_context(session(home)) for _ in range(2)]:
            found = mcp.call("memory_recall", query=QUERY, explain=True)
            assert found["legs"]["dense"]["status"] == "ran"
            assert "hint" not in found


@pytest.mark.usefixtures("real_processes")
def test_no_process_is_left_behind(home: Path) -> None:
    before = processes_of(home)
    with session(home) as mcp:
        wait_for_model(home, 3)
        hook(home)
        assert processes_of(home) == [*before, mcp.process.pid]
        assert mcp.end() == 0
    assert processes_of(home) == before


@pytest.mark.usefixtures("real_processes")
def test_a_hook_starts_nothing(home: Path) -> None:
    hook(home)
    assert processes_of(home) == []
    assert not Path(socket_path(str(home))).exists()


@pytest.mark.usefixtures("real_processes")
@pytest.mark.slow
def test_another_session_takes_over_from_one_that_was_killed(home: Path) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(session(home))
        wait_for_model(home, 3)
        second = stack.enter_context(session(home))
        # The second asks the first, and loads no model itself.
        assert second.call("memory_recall", query=QUERY)["hits"][0]["memory"]["content"] == CAR
        assert "onnxruntime" not in Path(f"/proc/{second.process.pid}/maps").read_text()
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        wait_until(lambda: is_listening(home))
        assert CAR in hook(home)
        second.call("memory_store", content="The bicycle has a flat tyre")
        wait_until(lambda: count_embedded(home) == 4)


def test_the_socket_of_a_process_that_was_killed_is_replaced(home: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(socket_path(str(home)))
    assert VIOLIN in hook(home, "Where is the violin in the study?")
    assert "by words" in last_log(home)
    with session(home):
        wait_for_model(home, 3)
        assert CAR in hook(home)


@pytest.mark.slow
def test_owner_that_ends_in_the_middle_of_an_answer_leaves_words(home: Path) -> None:
    """It accepts, and is killed before it answers."""
    with session(home) as mcp:
        wait_for_model(home, 3)
        mcp.process.send_signal(signal.SIGSTOP)
        with start_hook(home, "Where is the violin in the study?", **UNHURRIED) as asking:
            wait_until(lambda: has_connected(asking.pid))
            mcp.process.kill()
            assert asking.stdout is not None
            assert VIOLIN in asking.stdout.read().decode()
            assert asking.wait() == 0
    assert "by words: the session did not answer" in last_log(home)


def has_connected(pid: int) -> bool:
    """Whether a process is connected over a socket of this machine; it can only be that of the
    query. A socket without a connection would be refused once the session is gone.
    """
    sockets = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    connected = {f"socket:[{columns[6]}]" for columns in sockets if columns[5] == "03"}
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it was just closed
            if str(link.readlink()) in connected:
                return True
    return False


@pytest.mark.slow
def test_a_late_answer_leaves_words_within_the_budget(home: Path) -> None:
    with session(home) as mcp:
        wait_for_model(home, 3)
        mcp.process.send_signal(signal.SIGSTOP)
        prompt = "Where is the violin in the study?"
        assert VIOLIN in hook(home, prompt, RECOLLECT_HOOK_BUDGET_MS="20000")
        assert "by words: the session did not answer" in last_log(home)
        mcp.process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("seconds", [-1.0, 60.0])
def test_a_session_that_is_too_busy_for_meaning_answers_by_words(
    home: Path, seconds: float
) -> None:
    event = {"prompt": "Where is the violin in the study?"}
    with session(home):
        wait_for_model(home, 3)
        until = time.monotonic() + seconds
        call = HookCall(json.dumps(event).encode(), "/", {}, until, as_text=True)
        sent = send_question(str(home), call.to_bytes(), 60)
        assert sent is not None
        with closing(sent):
            answer = sent.read_answer(60)
        assert answer is not None
        reply = HookReply.from_bytes(answer)
    assert VIOLIN in reply.text
    assert reply.note == ("by words, from the session" if seconds < 0 else "by meaning")


def test_an_answer_is_printed_whatever_the_hook_is_busy_with(home: Path, tmp_path: Path) -> None:
    searching = tmp_path / "searching"
    code = f"""if True:
        import pathlib, time
        from recollect.shells.hooks import run
        from recollect.wiring import fast_recall

        def search(*_):
            pathlib.Path({str(searching)!r}).touch()
            time.sleep(600)

        fast_recall.FastRecall.__call__ = search
        run.run(["recall"])
    """
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(socket_path(str(home)))
        other.listen()
        with subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(RECOLLECT_HOME=str(home), RECOLLECT_HOOK_BUDGET_MS="20000"),
        ) as asking:
            assert asking.stdin is not None
            asking.stdin.write(json.dumps({"prompt": QUERY}).encode())
            asking.stdin.close()
            connection, _ = other.accept()
            with connection:
                wait_until(searching.exists)
                connection.sendall(HookReply("said by the session", "injected=1", "").to_bytes())
                connection.shutdown(socket.SHUT_WR)
                assert asking.stdout is not None
                assert asking.stdout.read() == b"said by the session"
    assert asking.returncode == 0
    assert "recall injected=1" in last_log(home)


@pytest.mark.usefixtures("real_processes")
def test_an_answer_that_comes_while_the_hook_searches_by_words_is_printed(home: Path) -> None:
    with session(home) as mcp:
        wait_for_model(home, 3)
        mcp.process.send_signal(signal.SIGSTOP)
        with start_hook(home, QUERY, RECOLLECT_HOOK_BUDGET_MS="20000") as asking:
            wait_until(lambda: "_sqlite3" in Path(f"/proc/{asking.pid}/maps").read_text())
            mcp.process.send_signal(signal.SIGCONT)
            assert asking.stdout is not None
            assert CAR in asking.stdout.read().decode()
    assert "by meaning" in last_log(home)


def test_a_memory_is_injected_once_by_a_session_too(home: Path) -> None:
    def ask(name: str) -> str:
        printed = hook(home, session_id=name)
        assert "by meaning" in last_log(home)
        return printed

    with session(home):
        wait_for_model(home, 3)
        assert CAR in ask("one")
        wait_until(lambda: any((home / "hooks" / "sessions").glob("*.jsonl")))
        assert CAR not in ask("one")
        assert CAR in ask("two")


def git_repository(folder: Path, name: str) -> Path:
    (folder / name / ".git").mkdir(parents=True)
    config = f'[remote "origin"]\n\turl = git@example.org:ada/{name}.git\n'
    (folder / name / ".git" / "config").write_text(config)
    return folder / name


@pytest.mark.slow
def test_a_relative_folder_is_that_of_the_hook_not_of_the_session(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = (git_repository(tmp_path, name) for name in ("here", "there"))
    Cli(home)("remember", "The cellar key is under the mat", "--project", "example.org/ada/there")
    monkeypatch.chdir(there)
    with session(home):
        wait_for_model(home, 4)

        def ask(folder: Path, cwd: str) -> str:
            return hook(home, "Where is the cellar key?", cwd, called_in=str(folder))

        assert "cellar" not in ask(here, ".")
        assert "cellar" in ask(there, ".")
        assert "cellar" in ask(here, "../there")
        assert "cellar" in ask(here, str(there))
        assert "by meaning" in last_log(home)


@pytest.mark.slow
def test_a_hook_in_a_folder_that_was_removed_is_answered(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    with session(home):
        wait_for_model(home, 3)
        script = f'rmdir "{folder}"; exec "$@"'
        done = subprocess.run(
            ["sh", "-c", script, "sh", *COMMAND, "hook", "recall", "--text"],
            input=json.dumps({"prompt": QUERY, "cwd": str(tmp_path)}).encode(),
            capture_output=True,
            cwd=folder,
            env=environment(RECOLLECT_HOME=str(home), **UNHURRIED),
            check=True,
        )
        assert CAR in done.stdout.decode()
        assert "by meaning" in last_log(home)


def test_hostile_events_do_not_hold_up_the_session(home: Path, tmp_path: Path) -> None:
    """A pipe instead of git's file, and a prompt of 144 kB."""
    repository = git_repository(tmp_path, "shop")
    (repository / ".git" / "config").unlink()
    os.mkfifo(repository / ".git" / "config")
    with session(home) as mcp:
        wait_for_model(home, 3)
        hook(home, cwd=str(repository))
        assert "by meaning" in last_log(home)
        hook(home, f"{QUERY} {'Ada and Bob ' * 12_000}")
        assert "by meaning" in last_log(home)
        assert mcp.call("memory_recall", query=QUERY)["hits"][0]["memory"]["content"] == CAR


@pytest.mark.parametrize("reply", sample([b"\n", b'{"hits": []}\n', b"cut off"]))
def test_an_invalid_answer_leaves_words(home: Path, reply: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(socket_path(str(home)))
        other.listen()
        other.settimeout(60)

        def answer() -> None:
            connection, _ = other.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(reply)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        assert VIOLIN in hook(home, "Where is the violin in the study?")
        thread.join()
    assert "by words: the session" in last_log(home)


def test_a_sensitive_memory_is_not_injected_by_a_session(home: Path) -> None:
    Cli(home)("remember", f"{QUERY} The PIN is 4711.", "--sensitive")
    with session(home):
        wait_for_model(home, 3)
        assert "4711" not in hook(home)
        assert "by meaning" in last_log(home)


def test_the_settings_of_the_hook_count_not_those_of_the_session(home: Path) -> None:
    with session(home):
        wait_for_model(home, 3)
        assert CAR not in hook(home, RECOLLECT_OWNER="someone-else")
        assert CAR not in hook(home, RECOLLECT_HOOK_MEANING_FLOOR="2")
        assert CAR in hook(home)
        assert hook(home, RECOLLECT_HOOK_TOKENS="none") == ""
        assert "failed: InvalidInput" in last_log(home)


@pytest.mark.parametrize("damage", sample(["missing", "partial", "corrupt"]))
def test_without_a_whole_model_words_answer_and_say_so_once(
    home: Path, tmp_path: Path, damage: str
) -> None:
    models = tmp_path / "models"
    if damage != "missing":
        shutil.copytree(home / "models", models, symlinks=False)
        (file,) = models.rglob("model.onnx")
        data = file.read_bytes()
        file.write_bytes(data[: len(data) // 2] if damage == "partial" else data[::-1])
    with session(home, RECOLLECT_MODELS=str(models)) as mcp:
        reason = WORDS_ONLY if damage == "missing" else "damaged"
        wait_until(lambda: reason in mcp.call("memory_recall", query="violin").get("hint", ""))
        again = mcp.call("memory_recall", query="violin")
        assert again["hits"][0]["memory"]["content"] == VIOLIN
        assert "hint" not in again
        assert not is_listening(home)


def test_a_model_that_is_downloaded_during_the_session_is_used(home: Path, tmp_path: Path) -> None:
    models = tmp_path / "models"
    with session(home, RECOLLECT_MODELS=str(models)) as mcp:
        assert mcp.call("memory_recall", query="violin")["hint"] == WORDS_ONLY
        models.symlink_to(home / "models")
        wait_for_model(home, 3)
        assert mcp.call("memory_recall", query=QUERY)["hits"][0]["memory"]["content"] == CAR


def test_a_session_holds_the_model_without_a_call_once_there_is_a_store(
    home: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "new"
    models = {"RECOLLECT_MODELS": str(home / "models")}
    with session(empty, **models):
        Cli(empty, models)("remember", CAR)
        wait_for_model(empty, 1)


@pytest.mark.slow
def test_no_embedder_keeps_to_words_next_to_a_process_that_holds_a_model(home: Path) -> None:
    words = Cli(home, {"RECOLLECT_EMBEDDER": "none"})
    question = "is the violin or the soup in the study at noon?"
    expected = [hit["memory"]["id"] for hit in words.json("recall", question)["hits"]]
    assert len(expected) == 2
    with session(home):
        wait_for_model(home, 3)
        assert CAR not in hook(home, RECOLLECT_EMBEDDER="none")
        assert [hit["memory"]["id"] for hit in words.json("recall", question)["hits"]] == expected
        assert words.json("recall", QUERY)["hits"] == []
    with session(home, RECOLLECT_EMBEDDER="none") as mcp:
        found = mcp.call("memory_recall", query=question)
        assert [hit["memory"]["id"] for hit in found["hits"]] == expected
        assert not Path(socket_path(str(home))).exists()


@pytest.mark.slow
def test_two_sessions_and_a_worker_embed_every_memory(home: Path) -> None:
    lines = [json.dumps({"content": f"note {number} on harbours"}) for number in range(60)]
    with session(home), session(home):
        Cli(home)("import", "-", input="\n".join(lines))
        Cli(home).process("worker", "--local", "--once")
        wait_until(lambda: count_embedded(home) == 63)


def test_a_store_from_before_is_embedded_in_the_background(home_with_model: Path) -> None:
    """Filled without a model, as by versions that had none."""
    cli = Cli(unhurried_home(home_with_model), {"RECOLLECT_EMBEDDER": "none"})
    for number in range(40):
        cli("remember", f"The shelf {number} is empty")
    cli("remember", CAR)
    with session(home_with_model) as mcp:
        found = mcp.call("memory_recall", query="automobile")  # by words at least
        assert found["hits"][0]["memory"]["content"] == CAR
        wait_for_model(home_with_model, 41)
        assert CAR in hook(home_with_model)


@pytest.mark.slow
def test_without_its_server_a_client_answers_by_meaning(home: Path) -> None:
    away = {"RECOLLECT_API_URL": "http://127.0.0.1:9", "RECOLLECT_API_KEY": "rk_x"}
    client = Cli(home, away)
    # A command loads the model itself, since the server does not answer.
    found = client.json("recall", QUERY, "--explain")
    assert found["hits"][0]["memory"]["content"] == CAR
    assert found["note"].startswith("answered by the local store: the server")
    assert found["degraded"] == []
    report = client.json("why", found["hits"][0]["memory"]["id"], "--query", QUERY)
    assert report["legs"]["dense"]["status"] == "ran"
    assert "by words" in client.json("recall", "violin", "--no-dense")["note"]
    with session(home, **away) as mcp:
        mcp.call("memory_stats")  # with a server, nothing is opened before the first call
        wait_for_model(home, 3)
        assert mcp.call("memory_stats")["embedding"]["embedded"] == 3
        found = mcp.call("memory_recall", query=QUERY)
        assert found["hits"][0]["memory"]["content"] == CAR
        assert CAR in hook(home, **away)
        assert "(without the server: StoreUnavailable, by meaning)" in last_log(home)


@pytest.mark.slow
def test_a_session_works_in_a_home_without_lock_and_socket(home: Path) -> None:
    """As one that cannot be written: the session recalls by meaning for itself."""
    (home / "recall.lock").mkdir()
    Path(socket_path(str(home))).mkdir()
    with session(home) as mcp:
        wait_until(lambda: is_found_by_meaning(mcp))
        assert VIOLIN in hook(home, "Where is the violin in the study?")
        assert "(by words)" in last_log(home)


def is_found_by_meaning(mcp: Session) -> bool:
    hits = mcp.call("memory_recall", query=QUERY)["hits"]
    return bool(hits) and hits[0]["memory"]["content"] == CAR
