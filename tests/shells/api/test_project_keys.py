"""A key that is limited to a project: nothing outside it can be read or changed over any way in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from tests.adapters.agents.agent import ScriptedAgent
from tests.serving import Running
from tests.shells.api.test_roles import call, outgoing
from tests.strategies import new_id

from recollect.core.curation.proposals import Proposal

SECRET = "the heron nests in the boathouse"


@dataclass(frozen=True)
class Sides:
    """One owner's server: `whole` opens everything, `shop` the project "shop" alone."""

    server: Running
    whole: httpx.Client
    shop: httpx.Client
    key: str
    inside: dict[str, Any]
    outside: list[dict[str, Any]]


@pytest.fixture
def sides(own_server: Running) -> Iterator[Sides]:
    key = own_server.new_key("ada", role="member", project="shop")
    with (
        own_server.client(own_server.new_key("ada")) as whole,
        own_server.client(key) as shop,
    ):
        inside = store_memory(whole, "the heron is our logo", project="shop")
        other = store_memory(whole, SECRET, project="web")
        everywhere = store_memory(whole, f"{SECRET}, everywhere")
        yield Sides(own_server, whole, shop, key, inside, [other, everywhere])


def store_memory(client: httpx.Client, content: str, **fields: Any) -> dict[str, Any]:
    answer = client.post("memories", json={"content": content, **fields})
    assert answer.status_code == 201, answer.text
    memory: dict[str, Any] = answer.json()
    return memory


def test_a_key_may_name_its_project_in_short(own_server: Running) -> None:
    whole = "github.com/ada/shop"
    key = own_server.new_key("ada", role="member", project=whole)
    with own_server.client(key) as shop:
        memory = store_memory(shop, "the heron is our logo", project="shop")
        assert memory["project"] == whole
        listed = shop.get("memories", params={"project": "shop"}).json()["memories"]
        assert [each["id"] for each in listed] == [memory["id"]]
        changed = shop.patch(f"memories/{memory['id']}", json={"project": "ada/shop"})
        assert changed.json()["project"] == whole
        assert shop.get("memories", params={"project": "web"}).status_code == 403


def test_what_is_captured_about_the_user_stays_inside(sides: Sides, tmp_path: Path) -> None:
    agent = ScriptedAgent(
        tmp_path,
        tmp_path,
        settings={
            "RECOLLECT_API_URL": sides.server.url,
            "RECOLLECT_API_KEY": sides.key,
            "RECOLLECT_SYNC": "off",
            "RECOLLECT_PROJECT": "shop",
        },
    )
    agent.ask("My timezone is Europe/Vienna.")
    agent.answer("Noted.")
    listed = sides.shop.get("memories").json()["memories"]
    assert "My timezone is Europe/Vienna." in [memory["content"] for memory in listed]


def test_reads_stay_inside(sides: Sides) -> None:
    shop, inside = sides.shop, sides.inside["id"]
    scopes: list[dict[str, Any]] = [
        {},
        {"project": "shop"},
        {"project": "shop", "with_global": True},
    ]
    for scope in scopes:
        hits = shop.post("recall", json={"query": "heron", "scope": scope}).json()["hits"]
        assert [hit["memory"]["id"] for hit in hits] == [inside]
        listed = shop.get("memories", params=scope).json()["memories"]
        assert [memory["id"] for memory in listed] == [inside]
    assert shop.get(f"memories/{inside}").status_code == 200
    # The common prefix of all ids is unambiguous here: only one of them is visible.
    assert shop.get(f"memories/{inside[:4]}").status_code == 200
    for memory in sides.outside:
        assert shop.get(f"memories/{memory['id']}").status_code == 404
        why = shop.post("why", json={"query": "heron", "id": memory["id"]})
        assert why.status_code == 404
    stats = shop.get("stats").json()
    assert (stats["memories"], stats["by_project"]) == (1, {"shop": 1})
    assert stats["embedding"] is stats["graph"] is None


def test_another_project_is_refused_with_a_remedy(sides: Sides) -> None:
    for answer in (
        sides.shop.post("recall", json={"query": "heron", "scope": {"project": "web"}}),
        sides.shop.get("memories", params={"project": "web"}),
        sides.shop.get("episodes/search", params={"q": "heron", "project": "web"}),
        sides.shop.post("memories", json={"content": "x", "project": "web"}),
        sides.shop.patch(f"memories/{sides.inside['id']}", json={"project": "web"}),
        sides.shop.patch(f"memories/{sides.inside['id']}", json={"project": None}),
    ):
        assert answer.status_code == 403, answer.text
        assert "limited to the project 'shop'" in answer.json()["detail"]
        assert SECRET not in answer.text


def test_writes_stay_inside(sides: Sides) -> None:
    shop, inside = sides.shop, sides.inside["id"]
    assert store_memory(shop, "open from nine to five")["project"] == "shop"
    assert shop.patch(f"memories/{inside}", json={"importance": 1}).status_code == 200
    for memory in sides.outside:
        path = f"memories/{memory['id']}"
        assert shop.patch(path, json={"content": "x"}).status_code == 404
        assert shop.patch(path, json={"project": "shop"}).status_code == 404
        assert shop.delete(path).status_code == 404
        assert shop.delete(path, params={"forever": True}).status_code == 404
        assert shop.put(f"memories/{inside}/links/see_also/{memory['id']}").status_code == 404
        assert sides.whole.get(path).json() == memory
    assert shop.post("erase", json={"owner": "ada"}).status_code == 403
    assert sides.whole.get("stats").json()["memories"] == 4


def test_links_do_not_lead_outside(sides: Sides) -> None:
    inside, other = sides.inside["id"], sides.outside[0]["id"]
    sides.whole.put(f"memories/{other}/links/supersedes/{inside}")
    sides.whole.put(f"memories/{inside}/links/resolved_by/{other}")
    answer = sides.shop.post("recall", json={"query": "heron"})
    assert [hit["memory"]["id"] for hit in answer.json()["hits"]] == [inside]
    assert SECRET not in answer.text


def test_no_way_of_writing_links_to_the_outside(sides: Sides) -> None:
    """A memory that supersedes another is shown in its place."""
    shop, other = sides.shop, sides.outside[0]["id"]
    links = [{"kind": "supersedes", "target": other}]
    draft = {"content": "the heron nests elsewhere", "links": links}
    inside = f"memories/{sides.inside['id']}"
    for answer in (shop.post("memories", json=draft), shop.patch(inside, json={"links": links})):
        assert answer.status_code == 422, answer.text
        assert answer.json()["field"] == "links"
    batch = shop.post("/memories:batch", json={"memories": [draft, {"content": "fine"}]}).json()
    assert [result["outcome"] for result in batch["results"]] == ["refused", "stored"]
    duplicate = {"id": other, "content": "the heron is mine"}
    batch = shop.post("/memories:batch", json={"memories": [duplicate, draft]}).json()
    assert [result["outcome"] for result in batch["results"]] == ["refused", "refused"]
    later = [{"kind": "supersedes", "target": str(new_id())}]
    assert shop.post("memories", json={**draft, "links": later}).status_code == 422
    assert "no memory" in call(sides.server, sides.key, "memory_store", draft)
    pushed = outgoing("the heron nests elsewhere", project="shop", links=links)
    body = {"protocol": 1, "store": str(new_id()), "memories": [pushed], "revisions": []}
    (answered,) = shop.post("sync/push", json=body).json()["answers"]
    assert answered["refused"] is not None
    hits = sides.whole.post("recall", json={"query": "heron nests"}).json()["hits"]
    assert other in {hit["memory"]["id"] for hit in hits}


def test_links_inside_the_project_are_written(sides: Sides) -> None:
    first = {"id": str(new_id()), "content": "the heron sleeps"}
    second = {
        "content": "the heron is awake",
        "links": [
            {"kind": "supersedes", "target": first["id"]},
            {"kind": "see_also", "target": sides.inside["id"]},
        ],
    }
    batch = sides.shop.post("/memories:batch", json={"memories": [first, second]}).json()
    assert [result["outcome"] for result in batch["results"]] == ["stored", "stored"]
    hits = sides.shop.post("recall", json={"query": "heron sleeps"}).json()["hits"]
    assert batch["results"][1]["id"] in {hit["memory"]["id"] for hit in hits}


def test_the_past_does_not_lead_outside(sides: Sides) -> None:
    moved = store_memory(sides.whole, "the heron key is under the mat", project="shop")
    before = datetime.now(UTC).isoformat()
    sides.whole.patch(f"memories/{moved['id']}", json={"project": "web"})
    asked = {"query": "heron", "as_of": before}
    assert len(sides.whole.post("recall", json=asked).json()["hits"]) == 4
    hits = sides.shop.post("recall", json=asked).json()["hits"]
    assert [hit["memory"]["id"] for hit in hits] == [sides.inside["id"]]


def test_the_concept_graph_needs_a_key_for_all_projects(sides: Sides) -> None:
    for path, query in (
        ("graph/stats", {}),
        ("graph/concept", {"name": "heron"}),
        ("graph/path", {"source": "heron", "target": "boathouse"}),
    ):
        answer = sides.shop.get(path, params=query)
        assert answer.status_code == 403
        assert "covers all projects" in answer.json()["detail"]
    report = sides.shop.post("recall", json={"query": "heron"}).json()["legs"]
    assert report["graph"]["status"] == "absent"


def test_mcp_stays_inside(sides: Sides) -> None:
    server, key = sides.server, sides.key
    for tool, arguments in (
        ("memory_recall", {"query": "heron"}),
        ("memory_list", {}),
        ("memory_stats", {}),
        ("memory_get", {"id": sides.outside[0]["id"]}),
        ("memory_delete", {"id": sides.outside[0]["id"], "forever": True}),
    ):
        assert SECRET not in call(server, key, tool, arguments)
    assert sides.whole.get(f"memories/{sides.outside[0]['id']}").status_code == 200


def test_a_pull_stays_inside(sides: Sides) -> None:
    query: dict[str, Any] = {"protocol": 1, "store": str(new_id()), "cursor": 0, "count": True}
    page = sides.shop.get("sync/pull", params=query).json()
    assert [memory["id"] for memory in page["memories"]] == [sides.inside["id"]]
    assert page["remaining"] is None
    assert SECRET not in str(page)
    whole = sides.whole.get("sync/pull", params=query).json()
    assert len(whole["memories"]) == 3
    assert page["cursor"] == whole["cursor"]  # the next pull continues after all of them


def test_a_pull_shows_erasures_of_its_project_alone(sides: Sides) -> None:
    for memory in (sides.inside, *sides.outside):
        sides.whole.delete(f"memories/{memory['id']}", params={"forever": True})
    query: dict[str, Any] = {"protocol": 1, "store": str(new_id()), "cursor": 0}
    page = sides.shop.get("sync/pull", params=query).json()
    assert [(memory["id"], memory["erased"]) for memory in page["memories"]] == [
        (sides.inside["id"], True)
    ]
    assert len(sides.whole.get("sync/pull", params=query).json()["memories"]) == 3


def test_a_push_stays_inside(sides: Sides) -> None:
    other = sides.outside[0]
    change = {**outgoing("overwritten"), "id": other["id"], "based_on": 1, "version": 2}
    items = [
        outgoing("tea", project="shop"),
        outgoing("coffee", project="web"),
        outgoing("milk"),
        change,
        {**change, "id": sides.outside[1]["id"], "fields": {"project": "shop"}},
        {**change, "id": sides.inside["id"], "fields": {"project": "web"}},
    ]
    body = {"protocol": 1, "store": str(new_id()), "memories": items, "revisions": []}
    answers = sides.shop.post("sync/push", json=body)
    refused = [answer["refused"] is not None for answer in answers.json()["answers"]]
    assert refused == [False, True, True, True, True, True]
    assert SECRET not in answers.text
    erase = {**change, "fields": None, "edit": str(new_id())}
    sides.shop.post("sync/push", json={**body, "memories": [erase]})
    contents = {
        memory["id"]: memory["content"] for memory in sides.whole.get("memories").json()["memories"]
    }
    assert contents.pop(items[0]["id"]) == "tea"
    assert contents == {
        memory["id"]: memory["content"] for memory in (sides.inside, *sides.outside)
    }


def test_conflicts_stay_inside(sides: Sides) -> None:
    revisions = [
        {
            "id": str(new_id()),
            "memory_id": memory["id"],
            "kind": "edit",
            "fields": {"content": f"{memory['content']}, once"},
            "made_at": "2026-03-06T09:30:00Z",
            "resolved_at": None,
        }
        for memory in (sides.inside, *sides.outside)
    ]
    body = {"protocol": 1, "store": str(new_id()), "memories": [], "revisions": revisions}
    accepted = sides.shop.post("sync/push", json=body).json()["revisions"]
    assert [revision["id"] for revision in accepted] == [revisions[0]["id"]]
    assert len(sides.whole.post("sync/push", json=body).json()["revisions"]) == 3
    found = sides.shop.get("conflicts").json()["conflicts"]
    assert [conflict["id"] for conflict in found] == [revisions[0]["id"]]
    for other in revisions[1:]:
        path = f"conflicts/{other['id']}/resolve"
        assert sides.shop.post(path, json={"keep": "other"}).status_code == 404
    query: dict[str, Any] = {"protocol": 1, "store": str(new_id()), "cursor": 0}
    page = sides.shop.get("sync/pull", params=query).json()
    assert [revision["id"] for revision in page["revisions"]] == [revisions[0]["id"]]


def test_events_report_proposals_of_the_project_alone(sides: Sides) -> None:
    running = sides.server

    def propose(*memories: dict[str, Any]) -> None:
        newer, older = (UUID(memory["id"]) for memory in memories)
        found = Proposal(
            id=new_id(),
            kind="supersedes",
            newer=newer,
            older=older,
            newer_version=1,
            older_version=1,
            newer_quote="heron",
            older_quote="heron",
            reason="a test",
            confidence=0.9,
            decided_by="rules",
            created_at=datetime.now(UTC),
        )
        curation = running.server.context.curation
        assert curation is not None
        keeping = curation().keep_proposals("ada", [found])
        assert asyncio.run_coroutine_threadsafe(keeping, running.loop).result() == [found]

    second = store_memory(sides.whole, "the heron is on every bill", project="shop")
    with sides.shop.stream("GET", "events") as stream:
        lines = (line for line in stream.iter_lines() if line.startswith((":", "event")))
        assert next(lines) == "event: changed"
        propose(*sides.outside)
        assert next(lines) == ": still here"
        propose(second, sides.inside)
        assert "event: changed" in (next(lines), next(lines))
