"""The life of a memory over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import httpx
from tests.strategies import new_id


def store_memory(client: httpx.Client, content: str, **fields: Any) -> dict[str, Any]:
    answer = client.post("memories", json={"content": content, **fields})
    assert answer.status_code == 201, answer.text
    memory: dict[str, Any] = answer.json()
    return memory


def test_what_is_remembered_can_be_read_at_its_location(mine: httpx.Client) -> None:
    sent = {
        "content": "Ünïcode 🐘 \u202eright to left\nsecond line",
        "category": "episode",
        "tags": ["α", "b"],
        "expanded_keywords": ["elephant"],
        "importance": 0.25,
        "is_sensitive": True,
        "project": "shop",
        "session": "s1",
        "id": str(new_id()),
    }
    answer = mine.post("memories", json=sent)
    assert answer.status_code == 201
    memory = answer.json()
    assert {name: memory[name] for name in sent} == sent
    assert (memory["version"], memory["deleted_at"]) == (1, None)
    assert datetime.fromisoformat(memory["created_at"]).utcoffset() is not None
    location = answer.url.join(answer.headers["Location"])
    assert mine.get(location).json() == memory


def test_repeating_a_write_is_one_memory_and_another_under_its_id_a_conflict(
    mine: httpx.Client,
) -> None:
    id = str(new_id())
    first = store_memory(mine, "said once", id=id)
    assert store_memory(mine, "said once", id=id) == first
    clash = mine.post("memories", json={"content": "something else", "id": id})
    assert (clash.status_code, clash.json()["type"]) == (409, "urn:recollect:problem:conflict")
    assert len(mine.get("memories").json()["memories"]) == 1


def test_a_listing_comes_in_pages_newest_first_and_stays_in_its_scope(mine: httpx.Client) -> None:
    for number in range(5):
        store_memory(mine, f"number {number}", project="p", tags=["all", str(number)])
    store_memory(mine, "elsewhere", project="q", category="note")

    seen, cursor = [], None
    while True:
        query: dict[str, Any] = {"project": "p", "tags": "all", "limit": 2}
        query |= {"cursor": cursor} if cursor else {}
        page = mine.get("memories", params=query).json()
        assert len(page["memories"]) <= 2
        seen += [memory["content"] for memory in page["memories"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == [f"number {number}" for number in (4, 3, 2, 1, 0)]

    def contents(**query: Any) -> set[str]:
        answer = mine.get("memories", params=query)
        assert answer.status_code == 200, answer.text
        return {memory["content"] for memory in answer.json()["memories"]}

    assert contents(tags=["all", "3"]) == {"number 3"}
    assert contents(categories=["note", "lesson"]) == {"elsewhere"}
    newest = mine.get("memories", params={"limit": 1}).json()["memories"][0]["created_at"]
    assert contents(since=newest) == {"elsewhere"}
    assert contents(until=newest) == set(seen)


def test_a_change_names_its_fields_and_the_version_it_was_made_from(mine: httpx.Client) -> None:
    memory = store_memory(mine, "as it was", project="p", tags=["a"])
    path = f"memories/{memory['id'][:18]}"
    changed = mine.patch(path, json={"project": None, "tags": ["b"], "based_on": 1}).json()
    assert (changed["project"], changed["tags"], changed["version"]) == (None, ["b"], 2)
    assert changed["content"] == "as it was"

    late = mine.patch(path, json={"content": "too late", "based_on": 1})
    assert late.status_code == 409
    assert "version 2 is current" in late.json()["detail"]
    assert mine.patch(path, json={"content": None}).status_code == 422
    assert mine.patch(path, json={"based_on": 2}).json()["field"] == "changes"
    assert mine.get(path).json() == changed


def test_forgetting_hides_and_forever_erases(mine: httpx.Client) -> None:
    id = store_memory(mine, "a passing thought")["id"]
    assert mine.delete(f"memories/{id}").json() == {"id": id, "forever": False}
    assert mine.get(f"memories/{id}").status_code == 404
    assert mine.delete(f"memories/{id}").status_code == 404
    assert mine.get("stats").json()["forgotten"] == 1
    assert mine.delete(f"memories/{id}", params={"forever": True}).json()["forever"] is True
    assert mine.get("stats").json()["forgotten"] == 0
    assert mine.delete(f"memories/{id}", params={"forever": True}).status_code == 404


def test_a_prefix_that_fits_several_memories_names_them(mine: httpx.Client) -> None:
    beginning = str(new_id())[:-1]
    ids = [beginning + "a", beginning + "b"]
    for id in ids:
        store_memory(mine, f"number {id}", id=id)
    answer = mine.get(f"memories/{beginning}")
    assert answer.status_code == 409
    problem = answer.json()
    assert problem["type"] == "urn:recollect:problem:ambiguous-id"
    assert all(id in problem["detail"] for id in ids)
    assert mine.get(f"memories/{ids[1]}").json()["id"] == str(UUID(ids[1]))


def test_versions_are_listed_and_restored(mine: httpx.Client, theirs: httpx.Client) -> None:
    first = store_memory(mine, "the API runs on port 8000")
    address = f"memories/{first['id']}"
    second = mine.patch(address, json={"content": "the API runs on port 9000"}).json()
    versions = mine.get(f"{address}/versions").json()["versions"]
    assert [(each["version"], each["content"]) for each in versions] == [
        (2, second["content"]),
        (1, first["content"]),
    ]
    restored = mine.post(f"{address}/versions/1/restore").json()
    assert (restored["version"], restored["content"]) == (3, first["content"])
    assert mine.post(f"{address}/versions/9/restore").status_code == 404
    assert theirs.get(f"{address}/versions").status_code == 404
