"""No text of a sensitive memory or query leaves a real server through any channel.

The server is the real process, its embedder a hosted one: an address on another machine, replaced
by a proxy that records every byte. Canaries are sent through every input, then all output is
searched: what the hosted service received, logs, metrics, error answers, Postgres's own log, what
commands print when RECOLLECT_DEBUG asks for tracebacks. A text that may leave is stored as well and
must be seen; otherwise the search would prove nothing.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from tests.loopback import Fault, Loopback, Request, Spoiled, Status
from tests.privacy.canaries import Aviary, birds_in, canary
from tests.processes import COMMAND, environment
from tests.waiting import SECONDS, wait_until

MODEL = "compatible/one@8"
OTHER = "compatible/two@8"
ELSEWHERE = "http://embeddings.invalid/v1"
SECRET = f"password={canary('Secret9!x')}"
PUBLIC = "sparrows may fly wherever they like"


@dataclass
class House:
    """A server process, the hosted service it uses, and the output of both."""

    database_url: str
    hosted: Loopback
    home: Path
    aviary: Aviary = field(default_factory=Aviary)
    url: str = ""
    key: str = ""

    @property
    def variables(self) -> dict[str, str]:
        proxies = dict.fromkeys(
            ("HTTP_PROXY", "http_proxy"), f"http://127.0.0.1:{self.hosted.port}"
        )
        inherited = {
            name: value
            for name, value in environment().items()
            if name.lower() not in ("no_proxy", "all_proxy", "https_proxy")
        }
        return {
            **inherited,
            **proxies,
            "RECOLLECT_HOME": str(self.home),
            "RECOLLECT_DATABASE_URL": self.database_url,
            "RECOLLECT_EGRESS": "hosted",
            "RECOLLECT_EMBEDDER": MODEL,
            "RECOLLECT_COMPATIBLE_URL": ELSEWHERE,
            "RECOLLECT_DEBUG": "1",
        }

    @contextmanager
    def serving(self) -> Iterator[httpx.Client]:
        ready = self.home / "ready.json"
        command = [*COMMAND, "serve", "--port", "0", "--json", "--ready-file", str(ready)]
        with (self.home / "out").open("wb") as out, (self.home / "err").open("wb") as err:
            server = subprocess.Popen(command, stdout=out, stderr=err, env=self.variables)
        try:
            wait_until(lambda: ready.exists() or server.poll() is not None)
            started = json.loads(ready.read_text())
            self.url, self.key = started["url"], started["key"]
            headers = {"Authorization": f"Bearer {self.key}"}
            with httpx.Client(
                base_url=f"{self.url}/api/v1/", headers=headers, trust_env=False, timeout=SECONDS
            ) as client:
                yield client
        finally:
            server.terminate()
            server.wait(SECONDS)
            for stream in ("out", "err"):
                self.aviary.record(f"server {stream}", (self.home / stream).read_bytes())

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
        """Run a command next to the server; its output is searched, too."""
        done = subprocess.run(
            [*COMMAND, *arguments],
            capture_output=True,
            env={**self.variables, **variables},
            timeout=SECONDS,
            check=False,
        )
        self.aviary.record(" ".join(arguments[:1]), done.stdout + done.stderr)
        return done


@pytest.fixture
def house(database_url: str, tmp_path: Path) -> Iterator[House]:
    with Loopback("compatible") as hosted:
        yield House(database_url, hosted, tmp_path)


def postgres_logs(folder: Path) -> bytes:
    logs = [path.read_bytes() for path in folder.glob("shared/postgres/log/postgres-*.log")]
    assert any(logs)
    return b"".join(logs)


def store(client: httpx.Client, content: str, **more: Any) -> dict[str, Any]:
    answer = client.post("memories", json={"content": content, **more})
    assert answer.status_code == 201, answer.text
    memory: dict[str, Any] = answer.json()
    return memory


def test_no_canary_leaks(house: House, run_folder: Path) -> None:
    with house.serving() as client:
        # On a busy machine a leg must not be left out for being late.
        assert client.patch("settings", json={"deadline_ms": 30_000}).is_success
        # Of a memory that may leave, only the content is sent.
        words = {"tags": [canary("tag")], "expanded_keywords": [canary("word")]}
        free = store(client, PUBLIC, session=canary("session"), **words)
        by_word = store(client, f"the safe opens with {canary('stored')}", is_sensitive=True)
        by_text = store(client, f"signs in with {SECRET}")
        assert by_text["is_sensitive"]
        changed = store(client, "nothing yet")
        client.patch(f"memories/{changed['id']}", json={"content": f"now {SECRET}"})
        flipped = store(client, "only later does it matter")
        assert house.run("worker", "--once").returncode == 0
        assert house.hosted.saw(PUBLIC)
        assert house.hosted.saw(flipped["content"])

        sent = len(house.hosted.received)
        client.patch(f"memories/{flipped['id']}", json={"is_sensitive": True})
        moved = house.run("reembed", "--model", OTHER)
        assert moved.returncode == 0, moved.stderr
        again = house.hosted.received[sent:]
        assert PUBLIC.encode() in again
        assert flipped["content"].encode() not in again

        for query in ({"query": canary("stored"), "is_sensitive": True}, {"query": SECRET}):
            found = client.post("recall", json={**query, "explain": True}).json()
            assert by_word["id"] in _ids(found) or by_text["id"] in _ids(found)
            assert found["legs"]["dense"]["status"] == "skipped"
            assert "sensitive" in found["legs"]["dense"]["note"]
        plain = _recall_by_meaning(client, "sparrows")
        assert _ids(plain)[0] == free["id"]

        _provoke_errors(house, client, by_word["id"])
        house.aviary.record("metrics", client.get("metrics").content)
        house.aviary.record("openapi", client.get("openapi.json").content)
        for command in ("status", "doctor"):
            house.run(
                command,
                RECOLLECT_API_URL=house.url,
                RECOLLECT_API_KEY=house.key,
                RECOLLECT_SYNC="off",
            )
    house.aviary.record("hosted service", house.hosted.received)
    house.aviary.record("Postgres's log", postgres_logs(run_folder))
    assert b"unexpected error" not in house.aviary.seen["server err"]
    assert b"request" in house.aviary.seen["server err"]
    house.aviary.check()


@pytest.mark.slow
def test_text_that_becomes_sensitive_during_a_failed_request_is_not_resent(house: House) -> None:
    """A turn of a conversation, while the service has it together with the next turn."""
    spoken, answered = f"the safe opens with {canary('said')}", "thanks, that is all"
    reached: list[int] = []

    with house.serving() as client:

        def flips_and_fails(request: Request) -> Fault:
            if not reached and any(spoken in text and answered in text for text in _texts(request)):
                changed = client.patch(f"memories/{first['id']}", json={"is_sensitive": True})
                assert changed.is_success
                reached.append(len(house.hosted.requests))
                return Status(503)
            return Spoiled()  # a correct answer

        house.hosted.misbehave(*[flips_and_fails] * 1000)
        turn = {"category": "episode", "session": "one", "is_sensitive": False}
        first = store(client, spoken, **turn)
        store(client, answered, **turn)
        assert house.run("worker", "--once").returncode == 0
    (when,) = reached
    assert birds_in("".join(text for request in house.hosted.requests for text in _texts(request)))
    later = [text for request in house.hosted.requests[when:] for text in _texts(request)]
    assert answered in later
    assert birds_in("".join(later)) == []
    house.aviary.check()


def _texts(request: Request) -> list[str]:
    texts: list[str] = request.body["input"]
    return texts


def _recall_by_meaning(client: httpx.Client, query: str) -> dict[str, Any]:
    """Recall until the hosted model answers: a query waits a second or two for it, which may be too
    short on a busy machine.
    """

    def recalled() -> dict[str, Any] | None:
        found: dict[str, Any] = client.post("recall", json={"query": query, "explain": True}).json()
        return found if found["legs"]["dense"]["status"] == "ran" else None

    found = wait_until(recalled)
    assert found is not None
    return found


def _ids(found: dict[str, Any]) -> list[str]:
    return [hit["memory"]["id"] for hit in found["hits"]]


def _provoke_errors(house: House, client: httpx.Client, existing: str) -> None:
    """Provoke every kind of refusal and error with a canary in the request."""
    bird = canary("provoked")
    guilty: list[dict[str, Any]] = [
        {"content": bird * 5_000},
        {"content": f"{bird}\0"},
        {"content": bird, "importance": 7},
        {"content": bird, "category": "episode"},
        {"content": bird, "id": existing},
        {"content": bird, "tags": [bird * 50]},
        {"content": [bird]},
        {"content": {"text": bird}},
        {"content": bird, "colour": "blue"},
        {"content": bird, "is_sensitive": "yes"},
    ]
    answers = [client.post("memories", json=body) for body in guilty]
    answers += [
        client.post("memories", content=f'{{"content": "{bird}"'),
        client.post("memories", content=f'{{"content": "{bird}", "\\ud800": 1}}'),
        client.post("memories", content=bird, headers={"Content-Type": "text/plain"}),
        client.post("memories", content=bird.encode() * 100_000),
        client.post("memories", json={"content": bird}, headers={"Authorization": "Bearer no"}),
        client.post("recall", json={"query": bird, "is_sensitive": True, "limit": 0}),
        client.post("recall", json={"query": [bird], "is_sensitive": True}),
        client.get("episodes/search", params={"q": bird, "is_sensitive": True, "limit": 0}),
        client.get(f"{bird}/{bird}"),
        client.request("BIRD", f"memories?q={bird}"),
        client.post("why", json={"query": bird, "is_sensitive": True, "id": "ffff0000"}),
        client.patch(f"memories/{existing}", json={"content": bird, "based_on": 99}),
        client.patch(f"memories/{existing}", json={"content": bird, "importance": -1}),
    ]
    with psycopg.connect(house.database_url, autocommit=True) as database:
        # Postgres's own message quotes the whole row.
        database.execute("alter table memories add constraint closed check (false) not valid")
        answers.append(client.post("memories", json={"content": bird, "is_sensitive": True}))
        answers.append(client.patch(f"memories/{existing}", json={"content": bird}))
        database.execute("alter table memories drop constraint closed")
    house.hosted.misbehave(*[Status(500)] * 20)
    late = client.post("recall", json={"query": bird, "is_sensitive": True})
    assert late.status_code == 200
    house.aviary.record("an answer's headers", repr(late.headers))
    # An id is no text of a memory, and the caller may read it again; the log may not have it.
    assert client.get(f"memories/{bird}").status_code == 422
    for answer in answers:
        assert answer.status_code >= 400, (answer.request.content[:80], answer.text)
        house.aviary.record("error answers", answer.content + repr(answer.headers).encode())
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    arguments: list[Any] = [{"content": bird, "importance": 9}, {"content": [bird]}, bird]
    for argument in arguments:
        call = {**message, "params": {"name": "memory_store", "arguments": argument}}
        house.aviary.record("mcp", _mcp(house, json.dumps(call)))
    for body in (f'{{"jsonrpc": "{bird}', json.dumps({"jsonrpc": "2.0", "method": bird})):
        house.aviary.record("mcp", _mcp(house, body))


def _mcp(house: House, body: str) -> bytes:
    headers = {
        "Authorization": f"Bearer {house.key}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    return httpx.post(
        f"{house.url}/mcp", content=body, headers=headers, trust_env=False, timeout=SECONDS
    ).content
