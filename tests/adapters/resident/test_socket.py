"""The socket of the process that holds the model: who may ask, and what is answered."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from tests.conformance.samples import memory
from tests.waiting import wait_until

from recollect.adapters.resident import socket_path
from recollect.adapters.resident.address import MAX_ANSWER, MAX_REQUEST
from recollect.adapters.resident.client import send_question
from recollect.adapters.resident.listener import listening
from recollect.core.errors import StoreUnavailable
from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.core.recall.request import Hit, LegPlace, LegReport, RecallRequest, Recollection
from recollect.wire.fast_recall import read_hits, write_request
from recollect.wire.hook_call import SHOWN, HookCall, HookReply
from recollect.wire.plain import to_plain
from recollect.wire.recall import RECOLLECTION
from recollect.wire.recall_inputs import RecallIn

pytestmark = pytest.mark.anyio

FOUND = Recollection(
    (Hit(memory(1, "the harbour"), 1.0, 1.0, 1.0, {"dense": LegPlace(1, 0.8, 1.0, evidence=0.9)}),),
    {"dense": LegReport("ran", 1.0, 1, 2.0)},
    "standout",
    3.0,
)
# Asks as another user, and prints the answer.
STRANGER = """
import os, socket, sys
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
with socket.socket(socket.AF_UNIX) as connection:
    try:
        connection.connect(sys.argv[1])
        connection.sendall(sys.argv[2].encode())
        print(connection.recv(100))
    except OSError as error:
        print(type(error).__name__)
"""


def question(text: str = "ships", owner: str = "ada", **changes: object) -> bytes:
    scope = Scope(with_global=True)
    request = write_request(RecallRequest(text, scope=scope), scope)
    return json.dumps({"owner": owner, "recall": {**request, **changes}}).encode() + b"\n"


class Asked:
    """Answers every recall with the same hits, or fails."""

    def __init__(self, answer: Recollection | Exception = FOUND) -> None:
        self.requests: list[tuple[str, RecallRequest]] = []
        self._answer = answer

    async def __call__(self, owner: str, request: RecallRequest) -> Recollection:
        self.requests.append((owner, request))
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def mode_of_socket(home: Path) -> int | None:
    """Return None without a socket."""
    path = Path(socket_path(str(home)))
    return stat.S_IMODE(path.stat().st_mode) if path.is_socket() else None


async def ask(home: Path, line: bytes) -> bytes | None:
    def work() -> bytes | None:
        sent = send_question(str(home), line, 60)
        if sent is None:
            return None
        with closing(sent):
            return sent.read_answer(60)

    return await asyncio.to_thread(work)


MOMENT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
EVERYTHING = RecallRequest(
    "ships",
    expanded_query="boats",
    limit=3,
    sort_by="recency",
    scope=Scope("shop", ("monday",), ("fact",), ("ops",), MOMENT, MOMENT, with_global=True),
    exclude=frozenset({UUID(int=3), UUID(int=1)}),
    weights={"dense": 0.5},
    is_sensitive=True,
    as_of=MOMENT,
)


@pytest.mark.parametrize("request_", [EVERYTHING, RecallRequest("")])
def test_a_request_arrives_as_it_was_made(request_: RecallRequest) -> None:
    sent = json.dumps(to_plain(request_))
    assert RecallIn.model_validate_json(sent).to_request() == request_


async def test_a_question_is_answered_with_the_hits_and_their_reasons(tmp_path: Path) -> None:
    answer = Asked()
    async with listening(tmp_path, answer):
        assert mode_of_socket(tmp_path) == 0o600
        data = await ask(tmp_path, question())
    assert data is not None
    assert RECOLLECTION.decode(data) == FOUND
    ((owner, request),) = answer.requests
    assert (owner, request.query, request.scope.with_global) == ("ada", "ships", True)
    assert read_hits(json.loads(data), EVERYWHERE) == [*FOUND.hits]
    assert mode_of_socket(tmp_path) is None
    assert await ask(tmp_path, question()) is None


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"not json\n",
        b"[]\n",
        b'{"owner": "ada"}\n',
        b'{"owner": "ada", "remember": {"content": "x"}}\n',
        question(limit="many"),
        question(command="forget"),
        b"x" * (MAX_REQUEST - 1) + b"\n",
        b"x" * (MAX_REQUEST + 1),
    ],
)
async def test_only_recalls_are_answered(tmp_path: Path, line: bytes) -> None:
    answer = Asked()
    async with listening(tmp_path, answer):
        assert await ask(tmp_path, line) is None
        assert answer.requests == []
        assert await ask(tmp_path, question()) is not None


class Hooks:
    """Answers every hook in the same way, and counts what was shown."""

    def __init__(self) -> None:
        self.calls: list[HookCall] = []
        self.shown = 0

    async def __call__(self, call: HookCall) -> tuple[HookReply, Callable[[], None]]:
        self.calls.append(call)

        def note_shown() -> None:
            self.shown += 1

        return HookReply("one\n\ntwo\n", "injected=2", "by meaning"), note_shown


async def call_as_hook(home: Path, data: bytes, *, is_shown: bool) -> bytes | None:
    def work() -> bytes | None:
        sent = send_question(str(home), data, 60)
        assert sent is not None
        with closing(sent):
            answer = sent.read_answer(60)
            if is_shown:
                sent.confirm(SHOWN)
            return answer

    return await asyncio.to_thread(work)


async def test_a_hook_gets_all_that_it_prints_and_says_when_it_has(tmp_path: Path) -> None:
    hooks = Hooks()
    environ = {"RECOLLECT_OWNER": "ada", "RECOLLECT_API_KEY": "secret"}
    call = HookCall(b'{"prompt":\n"ships"}', "/srv/shop", environ, 9.5, as_text=True)
    async with listening(tmp_path, Asked(), hooks):
        for is_shown in (False, True):
            data = await call_as_hook(tmp_path, call.to_bytes(), is_shown=is_shown)
            assert data is not None
            reply = HookReply.from_bytes(data)
            assert (reply.text, reply.outcome) == ("one\n\ntwo\n", "injected=2 (by meaning)")
        await asyncio.to_thread(wait_until, lambda: hooks.shown == 1)
    assert [(each.event, each.folder, each.as_text) for each in hooks.calls] == [
        (call.event, "/srv/shop", True)
    ] * 2
    assert hooks.calls[0].environ == {"RECOLLECT_OWNER": "ada"}, "no key leaves the hook"
    assert hooks.shown == 1


@pytest.mark.parametrize(
    "data",
    [
        b"hook \n",
        b"hook many\n",
        b"hook -1\n",
        b"hook 4\ntext",
        b"hook %d\n" % (MAX_REQUEST + 1),
    ],
)
async def test_what_is_no_call_of_a_hook_is_not_answered(tmp_path: Path, data: bytes) -> None:
    hooks = Hooks()
    async with listening(tmp_path, Asked(), hooks):
        assert await call_as_hook(tmp_path, data, is_shown=False) is None
        assert await ask(tmp_path, question()) is not None
    assert hooks.calls == []


async def test_a_process_without_hooks_declines_at_once(tmp_path: Path) -> None:
    call = HookCall(b"{}", "/srv", {}, 9.5, as_text=False)
    async with listening(tmp_path, Asked()):
        assert await call_as_hook(tmp_path, call.to_bytes(), is_shown=False) is None


@pytest.mark.parametrize(
    "failure",
    [
        StoreUnavailable("the store is gone", remedy="Look for it."),
        RuntimeError("a bug"),
    ],
)
async def test_a_recall_that_fails_is_no_answer(tmp_path: Path, failure: Exception) -> None:
    async with listening(tmp_path, Asked(failure)):
        assert await ask(tmp_path, question()) is None


async def test_an_answer_that_is_too_long_is_none(tmp_path: Path) -> None:
    (hit,) = FOUND.hits
    long = Hit(memory(1, "x" * MAX_ANSWER), hit.score, hit.fused, hit.prior, hit.legs)
    async with listening(tmp_path, Asked(Recollection((long,), {}, "standout", 1.0))):
        assert await ask(tmp_path, question()) is None


async def test_a_home_whose_path_is_too_long_for_a_socket(tmp_path: Path) -> None:
    home = tmp_path / ("long" * 40)
    home.mkdir()
    async with listening(home, Asked()):
        assert await ask(home, question()) is not None
        assert mode_of_socket(home) == 0o600


async def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(socket_path(str(tmp_path)))
    assert await ask(tmp_path, question()) is None
    async with listening(tmp_path, Asked()):
        assert await ask(tmp_path, question()) is not None


async def test_a_folder_that_takes_no_socket(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        async with listening(tmp_path / "missing", Asked()):
            pass


async def stranger(home: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", STRANGER, socket_path(str(home)), question().decode()),
        stdout=subprocess.PIPE,
    )
    output, _ = await process.communicate()
    return output.decode().strip()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
async def test_another_user_is_not_answered(open_folder: Path) -> None:
    """Refused by the mode of the socket or, where that allows it, by the process."""
    home = open_folder / "resident"
    home.mkdir()
    home.chmod(0o755)
    answer = Asked()
    async with listening(home, answer):
        assert await stranger(home) == "PermissionError"
        os.chmod(socket_path(str(home)), 0o666)  # noqa: PTH101  # as the address
        assert await stranger(home) in ("b''", "ConnectionResetError", "BrokenPipeError")
        assert answer.requests == []
        assert await ask(home, question()) is not None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
async def test_nothing_is_sent_to_the_socket_of_another_user(open_folder: Path) -> None:
    home = open_folder / "impostor"
    home.mkdir()
    home.chmod(0o777)
    script = """
import os, socket, sys
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
with socket.socket(socket.AF_UNIX) as listening:
    listening.bind(sys.argv[1])
    listening.listen()
    print("ready", flush=True)
    connection, _ = listening.accept()
    print(connection.recv(100))
"""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script, socket_path(str(home))), stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    assert await ask(home, question()) is None
    assert await process.stdout.readline() == b"b''\n"
    await process.wait()
