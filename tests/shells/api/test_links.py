"""Links over HTTP: written with a memory or one by one, and followed in a recall. And recall as of
a moment.
"""

from __future__ import annotations

import httpx
import pytest
from tests.shells.api.test_memories import store_memory
from tests.strategies import new_id

from recollect.core.memory.links import MAX_LINKS


def test_links_are_written_with_a_memory_and_followed(mine: httpx.Client) -> None:
    old = store_memory(mine, "the harbour is shallow")
    link = {"kind": "supersedes", "target": old["id"]}
    new = store_memory(mine, "dredged", links=[link])
    assert new["links"] == [link]
    (hit,) = mine.post("recall", json={"query": "harbour"}).json()["hits"]
    assert (hit["memory"], hit["stands_for"]) == (new, [old["id"]])
    why = mine.post("why", json={"query": "harbour", "id": old["id"]}).json()
    assert (why["recalled"], why["superseded_by"]) == (False, new["id"])
    bare = mine.patch(f"memories/{new['id']}", json={"links": []}).json()
    assert (bare["links"], bare["version"]) == ([], 2)


def test_a_link_is_put_and_deleted_by_its_address(mine: httpx.Client) -> None:
    one, other = store_memory(mine, "one"), store_memory(mine, "other")
    address = f"memories/{one['id']}/links/resolved_by/{other['id'][:30]}"
    linked = mine.put(address)
    assert linked.json()["links"] == [{"kind": "resolved_by", "target": other["id"]}]
    assert mine.put(address).json() == linked.json()
    assert mine.delete(address).json()["links"] == []
    deleted = mine.delete(address)
    assert (deleted.status_code, deleted.json()["type"]) == (404, "urn:recollect:problem:not-found")


def test_another_owners_memory_cannot_be_linked_by_its_prefix(
    mine: httpx.Client, theirs: httpx.Client
) -> None:
    one, foreign = store_memory(mine, "one"), store_memory(theirs, "foreign")
    assert mine.put(f"memories/{one['id']}/links/see_also/{foreign['id']}").status_code == 404


@pytest.mark.parametrize(
    "links",
    [
        [{"kind": "mocks", "target": str(new_id())}],
        [{"kind": "see_also", "target": "somewhere"}],
        [{"kind": "see_also"}],
        [{"kind": "see_also", "target": str(new_id()), "why": "because"}],
        [{"kind": "see_also", "target": str(new_id())} for _ in range(MAX_LINKS + 1)],
    ],
)
def test_links_that_cannot_be_stored_are_refused(
    mine: httpx.Client, links: list[dict[str, str]]
) -> None:
    answer = mine.post("memories", json={"content": "text", "links": links})
    assert answer.status_code == 422, answer.text
    assert "links" in answer.text


def test_a_memory_does_not_link_to_itself(mine: httpx.Client) -> None:
    id = str(new_id())
    answer = mine.post(
        "memories",
        json={"content": "text", "id": id, "links": [{"kind": "see_also", "target": id}]},
    )
    assert answer.status_code == 422
    assert "linked to itself" in answer.json()["detail"]


def test_a_recall_as_of_a_moment(mine: httpx.Client) -> None:
    first = store_memory(mine, "the harbour", category="episode", session="s")
    mine.patch(f"memories/{first['id']}", json={"content": "the port"})
    mine.delete(f"memories/{first['id']}")
    question = {"query": "harbour", "as_of": first["updated_at"]}
    (hit,) = mine.post("recall", json=question).json()["hits"]
    assert hit["memory"] == first | {"links": []}
    search = {"q": "harbour", "as_of": first["updated_at"]}
    assert len(mine.get("episodes/search", params=search).json()["hits"]) == 1
    assert mine.post("recall", json={"query": "harbour"}).json()["hits"] == []
    assert mine.post("recall", json={**question, "as_of": "yesterday"}).status_code == 422
