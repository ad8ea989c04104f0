"""Tables, details, restoring, growth, status, a hook's preview and live updates over HTTP."""

from __future__ import annotations

import json

import httpx
from tests.serving import Running
from tests.shells.api.test_memories import store_memory
from tests.strategies import new_id

from recollect.core.imports.jsonl import HEADER, from_values, to_line


def test_table_filters_sorts_and_counts(mine: httpx.Client) -> None:
    for number, text in enumerate(("a red boat", "a blue boat", "a red car")):
        store_memory(mine, text, importance=number / 2, is_sensitive=number == 1)
    red = mine.get("table", params={"words": ["red"], "sort_by": "importance"}).json()
    assert [memory["content"] for memory in red["memories"]] == ["a red car", "a red boat"]
    boats = mine.get("table", params={"words": ["boat"], "limit": 1}).json()
    assert (len(boats["memories"]), boats["total"]) == (1, 2)
    open_ones = mine.get("table", params={"is_sensitive": "false"}).json()
    assert open_ones["total"] == 2
    for offset in (-1, 10**30):
        refused = mine.get("table", params={"offset": offset})
        assert (refused.status_code, refused.json()["field"]) == (422, "offset")


def test_a_word_that_is_in_no_text_may_be_an_id(mine: httpx.Client) -> None:
    id = store_memory(mine, "a red boat", project="shop")["id"]
    store_memory(mine, "a blue boat")
    for part in (id, id[-4:], id[-8:].upper()):
        found = mine.get("table", params={"words": [part]}).json()
        assert [memory["id"] for memory in found["memories"]] == [id], part
        assert mine.get("table", params={"words": [part], "project": "lab"}).json()["total"] == 0
    store_memory(mine, f"it mentions {id[-4:]}")
    found = mine.get("table", params={"words": [id[-4:]]}).json()
    assert [memory["content"] for memory in found["memories"]] == [f"it mentions {id[-4:]}"]
    assert mine.get("table", params={"words": ["ffff"]}).json()["total"] == 0


def test_a_listing_continues_after_the_id_of_its_last_memory(mine: httpx.Client) -> None:
    ids = [store_memory(mine, f"number {number}")["id"] for number in range(3)]
    page = mine.get("memories", params={"limit": 2}).json()
    last = page["memories"][-1]["id"]
    for cursor in (last, last[-8:], page["next_cursor"]):
        rest = mine.get("memories", params={"cursor": cursor}).json()
        assert [memory["id"] for memory in rest["memories"]] == ids[:1]


def test_a_project_is_renamed_by_who_may(mine: httpx.Client, theirs: httpx.Client) -> None:
    store_memory(mine, "a red boat", project="shop-0a1b2c3d")
    store_memory(theirs, "a blue boat", project="shop-0a1b2c3d")
    body = {"project": "shop-0a1b2c3d", "name": "github.com/ada/shop", "into": "new"}
    assert mine.post("projects/rename", json=body).json() == {
        "project": "shop-0a1b2c3d",
        "name": "github.com/ada/shop",
        "memories": 1,
    }
    assert mine.post("projects/rename", json={**body, "project": "x"}).status_code == 404
    found = mine.get("memories", params={"project": "shop-0a1b2c3d"}).json()
    assert (found["project"], len(found["memories"])) == ("github.com/ada/shop", 1)
    store_memory(mine, "a red car", project="lab")
    assert mine.post("projects/rename", json={**body, "project": "lab"}).status_code == 409
    stats = theirs.get("stats").json()
    assert (stats["by_project"], stats["former_names"]) == ({"shop-0a1b2c3d": 1}, {})


def test_a_forgotten_memory_is_listed_and_restored(mine: httpx.Client) -> None:
    id = store_memory(mine, "soon forgotten")["id"]
    mine.delete(f"memories/{id}")
    forgotten = mine.get("table", params={"state": "forgotten"}).json()
    assert [memory["id"] for memory in forgotten["memories"]] == [id]
    restored = mine.post(f"memories/{id}/restore").json()
    assert restored["deleted_at"] is None
    assert restored["changed_by"].partition(" (")[0] == "api"
    assert mine.get(f"memories/{id}").status_code == 200
    assert mine.post(f"memories/{id}/restore").json()["version"] == 3
    mine.delete(f"memories/{id}")
    by = {"recollect-client": "page"}
    restored = mine.post(f"memories/{id}/restore", headers=by).json()
    assert restored["changed_by"].partition(" (")[0] == "page"


def test_details_have_the_history(mine: httpx.Client, theirs: httpx.Client) -> None:
    id = store_memory(mine, "first")["id"]
    mine.patch(f"memories/{id}", json={"content": "second"})
    found = mine.get(f"memories/{id}/details").json()
    assert found["memory"]["content"] == "second"
    assert [version["content"] for version in found["history"]] == ["first"]
    by = {"recollect-client": "page"}
    mine.patch(f"memories/{id}", json={"content": "third"}, headers=by)
    found = mine.get(f"memories/{id}/details").json()
    written_by = [found["memory"], *found["history"]]
    shells = [version["changed_by"].partition(" (")[0] for version in written_by]
    assert shells == ["page", "api", "api"]
    assert found["vector"] in ("waiting", "off")
    assert theirs.get(f"memories/{id}/details").status_code == 404
    assert theirs.post(f"memories/{id}/restore").status_code == 404


def replacements(client: httpx.Client) -> dict[str, str | None]:
    rows = client.get("table").json()["memories"]
    return {memory["id"]: memory["superseded_by"] for memory in rows}


def test_a_superseded_memory_says_what_replaced_it(mine: httpx.Client) -> None:
    ids = [store_memory(mine, "port 8000")["id"]]
    for text in ("port 8001", "port 8002"):
        links = [{"kind": "supersedes", "target": ids[-1]}]
        ids.append(store_memory(mine, text, links=links)["id"])
    found = mine.get(f"memories/{ids[0]}/details").json()
    assert found["memory"]["superseded_by"] == ids[2]
    assert mine.get(f"memories/{ids[2]}/details").json()["memory"]["superseded_by"] is None
    assert replacements(mine) == {ids[0]: ids[2], ids[1]: ids[2], ids[2]: None}
    mine.delete(f"memories/{ids[2]}")
    assert replacements(mine) == {ids[0]: ids[1], ids[1]: None}


def test_chosen_memories_are_exported_as_the_command_writes_them(
    mine: httpx.Client, theirs: httpx.Client
) -> None:
    old = store_memory(mine, "port 8000")["id"]
    new = store_memory(mine, "port 9000", links=[{"kind": "supersedes", "target": old}])["id"]
    secret = store_memory(mine, "the code is 4711", is_sensitive=True)["id"]
    mine.delete(f"memories/{old}")
    ids = [old, new, secret, str(new_id())]
    found = mine.post("/memories:export", json={"ids": ids}).json()
    assert (found["exported"], found["left_out"]) == (2, 1)
    assert found["lines"][0] == HEADER
    memories = [from_values(json.loads(line), "ana") for line in found["lines"][1:]]
    assert [str(memory.id) for memory in memories] == [new, old]
    assert [to_line(memory) for memory in memories] == found["lines"][1:]
    everything = {"ids": ids, "sensitive": True}
    assert mine.post("/memories:export", json=everything).json()["exported"] == 3
    assert theirs.post("/memories:export", json=everything).json()["exported"] == 0
    refused = mine.post("/memories:export", json={"ids": [old] * 501})
    assert (refused.status_code, refused.json()["field"]) == (422, "ids")


def test_a_lifetime_is_set_shown_and_cleared(mine: httpx.Client) -> None:
    sent = {"content": "the harbour is closed", "valid_until": "2020-01-01T00:00:00+01:00"}
    id = mine.post("memories", json=sent).json()["id"]
    assert mine.get(f"memories/{id}").json()["valid_until"] == "2019-12-31T23:00:00Z"
    assert mine.post("recall", json={"query": "harbour"}).json()["hits"] == []
    assert mine.patch(f"memories/{id}", json={"valid_until": None}).json()["valid_until"] is None
    assert len(mine.post("recall", json={"query": "harbour"}).json()["hits"]) == 1
    refused = mine.patch(f"memories/{id}", json={"valid_from": "2020-01-01T00:00:00"})
    assert (refused.status_code, refused.json()["field"]) == (422, "valid_from")


def test_growth_ends_with_this_week(mine: httpx.Client) -> None:
    store_memory(mine, "new")
    weeks = mine.get("stats/growth").json()["weeks"]
    assert len(weeks) == 26
    assert weeks[-1]["memories"] == 1


def test_a_preview_shows_what_a_hook_would_inject(mine: httpx.Client) -> None:
    store_memory(mine, "The harbour ferry leaves at seven in the morning.")
    store_memory(mine, "The harbour ferry password is hunter2.", is_sensitive=True)
    sent = {"prompt": "When does the harbour ferry leave in the morning?"}
    preview = mine.post("recall/injection", json=sent).json()
    assert "leaves at seven" in preview["text"]
    assert "hunter2" not in preview["text"]
    assert (len(preview["memories"]), preview["sensitive"]) == (1, 1)
    assert preview["tokens"] > 20


def test_status_names_what_needs_attention(mine: httpx.Client) -> None:
    status = mine.get("status").json()
    assert status["version"]
    assert {check["status"] for check in status["checks"]} <= {"ok", "warn", "fail"}


def test_events_report_a_change_without_its_text(own_server: Running) -> None:
    key = own_server.new_key()
    with own_server.client(key) as client, client.stream("GET", "events") as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        assert next(lines) == "event: changed"
        with own_server.client(key) as other:
            store_memory(other, "a secret plan")
        seen = []
        for line in lines:
            seen.append(line)
            if line == "event: changed":
                break
        assert "secret" not in "".join(seen)


def test_events_need_a_key(shared_server: Running) -> None:
    assert httpx.get(f"{shared_server.url}/api/v1/events").status_code == 401


def test_a_key_of_a_project_sees_only_its_table(own_server: Running) -> None:
    with own_server.client(own_server.new_key("ada")) as all_of_it:
        inside = store_memory(all_of_it, "inside", project="shop")["id"]
        outside = store_memory(all_of_it, "outside", project="home")["id"]
    key = own_server.new_key("ada", role="member", project="shop")
    with own_server.client(key) as limited:
        table = limited.get("table").json()
        assert [memory["id"] for memory in table["memories"]] == [inside]
        assert table["total"] == 1
        assert limited.get(f"memories/{outside}/details").status_code == 404
        assert limited.post(f"memories/{outside}/restore").status_code == 404
        assert limited.get("stats/growth").json()["weeks"][-1]["memories"] == 1
        assert limited.get("status").status_code == 403
        assert limited.get("table", params={"project": "home"}).status_code == 403
