"""Who may ask: no key, a wrong key, a revoked key, and two owners who try to cross."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest
from tests.serving import Running
from tests.strategies import new_id
from tests.waiting import SECONDS

OPEN = ("health/live", "health/ready", "metrics", "openapi.json", "docs", "docs/docs.js")
CLOSED = (
    ("GET", "memories"),
    ("POST", "memories"),
    ("GET", "memories/0193a5f0"),
    ("PATCH", "memories/0193a5f0"),
    ("DELETE", "memories/0193a5f0"),
    ("POST", "recall"),
    ("GET", "settings"),
    ("PATCH", "settings"),
    ("GET", "stats"),
    ("GET", "no/such/path"),
    ("GET", "health/live/"),
)


@pytest.mark.parametrize(
    "header",
    [None, "Bearer", "Basic bWU6bWU=", "Bearer rk_wrong", "Bearer \xff\xfe", "rk_x"],
)
def test_everything_but_the_open_paths_needs_a_known_key(
    shared_server: Running, header: str | None
) -> None:
    headers = [] if header is None else [(b"Authorization", header.encode("latin-1"))]
    with httpx.Client(
        base_url=f"{shared_server.url}/api/v1/", headers=headers, timeout=SECONDS
    ) as client:
        for method, path in CLOSED:
            # The body cannot be read: the key is checked first.
            answer = client.request(method, path, content=b"{")
            assert answer.status_code == 401, (method, path, answer.text)
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")
            assert answer.headers["Content-Type"] == "application/problem+json"
            assert "Authorization: Bearer" in answer.json()["remedy"]
        for path in OPEN:
            assert client.get(path).status_code == 200, path


def test_the_scheme_of_the_header_is_read_in_any_case(shared_server: Running) -> None:
    headers = {"Authorization": f"bEARER  {shared_server.new_key()}"}
    assert (
        httpx.get(f"{shared_server.url}/api/v1/stats", headers=headers, timeout=SECONDS).status_code
        == 200
    )


def test_a_revoked_key_is_refused_at_once(own_server: Running, database_url: str) -> None:
    with own_server.client() as client:
        assert client.get("stats").status_code == 200
        with psycopg.connect(database_url) as connection:
            connection.execute("update keys set revoked_at = now()")
        assert client.get("stats").status_code == 401


def test_the_store_keeps_no_key(own_server: Running, database_url: str) -> None:
    key = own_server.new_key()
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("select keys::text from keys").fetchall()
    assert len(rows) == 1
    assert key.removeprefix("rk_") not in str(rows)


def test_owners_cannot_cross_on_any_endpoint(mine: httpx.Client, theirs: httpx.Client) -> None:
    draft = {"content": "my private matter", "project": "p", "tags": ["t"]}
    memory: dict[str, Any] = mine.post("memories", json=draft).json()
    forgotten: str = mine.post("memories", json={"content": "private, too"}).json()["id"]
    mine.delete(f"memories/{forgotten}")
    id = memory["id"]

    assert theirs.get("memories").json()["memories"] == []
    assert theirs.get("memories", params={"project": "p", "tags": "t"}).json()["memories"] == []
    assert theirs.post("recall", json={"query": "private matter"}).json()["hits"] == []
    numbers = theirs.get("stats").json()
    assert (numbers["memories"], numbers["forgotten"], numbers["by_project"]) == (0, 0, {})
    for reference in (id, id[:18], id[:4], forgotten):
        path = f"memories/{reference}"
        assert theirs.get(path).status_code == 404
        assert theirs.patch(path, json={"content": "mine now"}).status_code == 404
        assert theirs.delete(path).status_code == 404
        assert theirs.delete(path, params={"forever": True}).status_code == 404

    # The same id under another owner is another memory.
    stored = theirs.post("memories", json={"content": "something else", "id": id})
    assert stored.status_code == 201
    assert mine.get(f"memories/{id}").json()["content"] == memory["content"]

    assert mine.get(f"memories/{id}").json() == memory
    assert mine.get("stats").json()["forgotten"] == 1


def test_a_cursor_of_one_owner_shows_the_other_nothing(
    mine: httpx.Client, theirs: httpx.Client
) -> None:
    for number in range(3):
        mine.post("memories", json={"content": f"number {number}"})
    cursor = mine.get("memories", params={"limit": 1}).json()["next_cursor"]
    assert theirs.get("memories", params={"cursor": cursor}).json()["memories"] == []


def test_ids_of_another_owner_do_not_make_a_prefix_ambiguous(
    mine: httpx.Client, theirs: httpx.Client
) -> None:
    beginning = str(new_id())[:-1]
    mine.post("memories", json={"content": "mine", "id": beginning + "a"})
    theirs.post("memories", json={"content": "theirs", "id": beginning + "b"})
    assert mine.get(f"memories/{beginning}").json()["content"] == "mine"
    assert theirs.get(f"memories/{beginning}").json()["content"] == "theirs"
