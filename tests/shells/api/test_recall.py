"""Recall and its settings over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serving import Running, running
from tests.waiting import DEFAULT_SETTINGS

from recollect.core.errors import InvalidInput
from recollect.core.recall.settings import RecallSettings


@pytest.fixture
def ids(mine: httpx.Client) -> dict[str, str]:
    contents = {
        "friday": ("The staging database is read-only on Fridays", 0.2),
        "vpn": ("The staging machines need the VPN", 1.0),
        "lunch": ("Lunch is at noon", 0.5),
    }
    return {
        name: mine.post(
            "memories", json={"content": content, "importance": importance, "project": name}
        ).json()["id"]
        for name, (content, importance) in contents.items()
    }


def recall(client: httpx.Client, **question: Any) -> dict[str, Any]:
    answer = client.post("recall", json=question)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def found_ids(answer: dict[str, Any]) -> list[str]:
    return [hit["memory"]["id"] for hit in answer["hits"]]


def test_each_hit_says_why_it_is_there(mine: httpx.Client, ids: dict[str, str]) -> None:
    answer = recall(mine, query="a database on Fridays")
    assert found_ids(answer) == [ids["friday"]]
    first = answer["hits"][0]
    why = first["explanation"]
    assert why["legs"]["lexical"]["rank"] == 1
    assert why["fused"] == pytest.approx(RecallSettings().vote)  # alone in its leg
    assert why["prior"] == pytest.approx(0.7 + 0.3 * 0.2)
    assert first["score"] == pytest.approx(why["fused"] * why["prior"])
    assert answer["legs"]["lexical"]["status"] == "ran"
    assert answer["degraded"] == []
    assert answer["took_ms"] > 0


def test_without_explain_the_detail_of_the_legs_is_left_out(
    mine: httpx.Client, ids: dict[str, str]
) -> None:
    answer = recall(mine, query="staging", explain=False)
    assert len(answer["hits"]) == 2
    assert all(hit["explanation"] is None for hit in answer["hits"])
    assert answer["legs"] is None
    assert answer["degraded"] == []


def test_every_part_of_a_query_takes_effect(mine: httpx.Client, ids: dict[str, str]) -> None:
    assert len(recall(mine, query="staging", limit=1)["hits"]) == 1
    assert found_ids(recall(mine, query="staging", exclude=[ids["vpn"]])) == [ids["friday"]]
    assert found_ids(recall(mine, query="staging", scope={"project": "vpn"})) == [ids["vpn"]]
    assert found_ids(recall(mine, query="staging", sort_by="importance"))[0] == ids["vpn"]
    assert found_ids(recall(mine, query="nothing", expanded_query="lunch")) == [ids["lunch"]]
    without = recall(mine, query="staging", weights={"lexical": 0})
    assert (without["hits"], without["legs"]["lexical"]["status"]) == ([], "skipped")


@pytest.mark.parametrize(
    "query", ["", " ", "\x00", '"; drop table memories; --', "a & | ! <-> :* \\", "🐘" * 300]
)
def test_any_text_is_a_legal_query(mine: httpx.Client, query: str) -> None:
    recall(mine, query=query, expanded_query=query)


def test_a_changed_setting_applies_to_the_next_request(own_server: Running) -> None:
    with own_server.client() as mine, own_server.client() as theirs:
        assert mine.get("settings").json() == DEFAULT_SETTINGS.as_dict()
        changed = mine.patch("settings", json={"lexical_weight": 0, "rrf_k": 10.0})
        assert (changed.json()["lexical_weight"], changed.json()["rrf_k"]) == (0, 10)
        assert recall(mine, query="staging")["legs"]["lexical"]["status"] == "skipped"
        assert theirs.get("settings").json() == changed.json()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({}, "settings"),
        ({"lexical_weight": 6}, "lexical_weight"),
        ({"rrf_k": 0}, "rrf_k"),
        ({"rrf_k": 1.5}, "rrf_k"),
        ({"fusion": "median"}, "fusion"),
        ({"colour": "blue"}, "colour"),
        ({"depth": None}, "depth"),
    ],
)
def test_a_setting_outside_its_range_is_refused(
    mine: httpx.Client, change: dict[str, Any], field: str
) -> None:
    answer = mine.patch("settings", json=change)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert mine.get("settings").json() == DEFAULT_SETTINGS.as_dict()


def test_a_change_applies_to_all_servers_on_one_database(
    own_server: Running, database_url: str, tmp_path: Path
) -> None:
    with running(database_url, tmp_path / "second") as second:
        key = own_server.new_key("ada")
        with own_server.client(key) as here, second.client(key) as there:
            assert recall(there, query="staging")["legs"]["lexical"]["status"] == "ran"
            here.patch("settings", json={"lexical_weight": 0, "second_stage": "cross-encoder"})
            after = recall(there, query="staging")
            assert after["legs"]["lexical"]["status"] == "skipped"
            assert after["rerank"]["status"] == "absent"
            there.patch("settings", json={"lexical_weight": 2})
            assert recall(here, query="staging")["legs"]["lexical"]["weight"] == 2
            log = here.get("settings/audit", params={"limit": 2}).json()["changes"]
    assert [(change["by"], change["name"], change["old"], change["new"]) for change in log] == [
        ("ada", "lexical_weight", 0.0, 2.0),
        ("ada", "second_stage", None, "cross-encoder"),
    ]


@pytest.mark.parametrize("limit", [0, 1_001, "many"])
def test_the_log_is_read_in_reasonable_pieces(mine: httpx.Client, limit: object) -> None:
    answer = mine.get("settings/audit", params={"limit": str(limit)})
    assert (answer.status_code, answer.json()["field"]) == (422, "limit")


def test_why_answers_for_what_was_not_recalled(mine: httpx.Client, ids: dict[str, str]) -> None:
    question = {"query": "lunch at noon", "scope": {"project": "vpn"}}
    answer = mine.post("why", json={"id": ids["lunch"][:18], **question}).json()
    assert (answer["recalled"], answer["place"]) == (False, 1)
    assert answer["legs"]["lexical"]["rank"] == 1
    first = answer["kept_out"][0]
    assert (first["kind"], first["leg"]) == ("out_of_scope", None)
    assert "project is lunch" in first["what"]
    assert first["remedy"] == "Ask for project lunch, or for no project."


def test_why_of_a_hit_is_its_explanation(mine: httpx.Client, ids: dict[str, str]) -> None:
    hit = recall(mine, query="lunch")["hits"][0]
    answer = mine.post("why", json={"id": ids["lunch"], "query": "lunch"}).json()
    assert (answer["recalled"], answer["place"], answer["kept_out"]) == (True, 1, [])
    assert (answer["score"], answer["fused"]) == (hit["score"], hit["explanation"]["fused"])


def test_why_says_that_an_update_is_shown_first(mine: httpx.Client) -> None:
    texts = (
        "The car park API runs on port 8000.",
        "The API moved to port 9000, says the car park.",
    )
    old, new = (mine.post("memories", json={"content": text}).json()["id"] for text in texts)
    query = "car park API runs on port"
    hit = recall(mine, query=query)["hits"][0]
    assert (hit["memory"]["id"], hit["newer_than"]["id"]) == (new, old)
    gained, lost = (mine.post("why", json={"id": id, "query": query}).json() for id in (new, old))
    assert gained["moved"].endswith("which it updates: 8000 became 9000.")
    assert lost["moved"].endswith("which updates it, is shown first: 8000 became 9000.")
    assert mine.post("why", json={"id": old, "query": "car park"}).json()["recalled"]


def test_why_hides_other_owners_memories(
    mine: httpx.Client, theirs: httpx.Client, ids: dict[str, str]
) -> None:
    assert theirs.post("why", json={"id": ids["lunch"], "query": "lunch"}).status_code == 404


def test_a_sensitive_query_is_treated_as_such(mine: httpx.Client, ids: dict[str, str]) -> None:
    answer = recall(mine, query="lunch", is_sensitive=True)
    assert found_ids(answer) == [ids["lunch"]]
    assert mine.post("recall", json={"query": "q", "is_sensitive": "yes"}).status_code == 422


def test_episodes_are_searched_by_session_and_project(mine: httpx.Client) -> None:
    def say(content: str, **fields: str) -> str:
        turn = {"content": content, "category": "episode", **fields}
        answer = mine.post("memories", json=turn)
        assert answer.status_code == 201
        id: str = answer.json()["id"]
        return id

    monday = say("We moved the launch to June", session="monday, 9:00", project="shop")
    tuesday = say("The launch needs a new date", session="tuesday", project="shop")
    other = say("The rocket launch was on television", session="tv")
    mine.post("memories", json={"content": "The launch is in June", "project": "shop"})

    def search(**params: Any) -> set[str]:
        answer = mine.get("episodes/search", params={"q": "launch", **params})
        assert answer.status_code == 200, answer.text
        return set(found_ids(answer.json()))

    assert search() == {monday, tuesday, other}
    assert search(session_ids="tuesday") == {tuesday}
    assert search(session_ids=["monday, 9:00", "tv"]) == {monday, other}
    assert search(session_ids="monday, 9:00") == {monday}
    assert (
        search(session_ids="tuesday,tv") == search(session_ids=" tv , tuesday,") == {tuesday, other}
    )
    assert search(session_ids=",") == set()
    assert search(project="shop") == {monday, tuesday}
    assert len(search(limit=1)) == 1
    explained = mine.get("episodes/search", params={"q": "launch", "explain": "true"}).json()
    assert explained["legs"]["lexical"]["status"] == "ran"
    assert mine.get("episodes/search").status_code == 422
    refused = mine.get("episodes/search", params={"q": "x", "session_ids": " "})
    assert (refused.status_code, refused.json()["field"]) == (422, "session_ids")
    assert "session_ids" in refused.json()["detail"]
    assert "session_ids" in refused.json()["remedy"]


def test_settings_that_leave_no_leg_are_refused(own_server: Running) -> None:
    with own_server.client() as mine:
        answer = mine.patch("settings", json={"lexical_weight": 0, "dense_weight": 0})
        assert (answer.status_code, answer.json()["field"]) == (422, "lexical_weight")
        assert "recall could not find anything" in answer.json()["detail"]
        assert mine.get("settings").json() == DEFAULT_SETTINGS.as_dict()
        assert mine.patch("settings", json={"lexical_weight": 0}).status_code == 200
        assert mine.patch("settings", json={"dense_weight": 0}).status_code == 422


def test_a_server_whose_environment_leaves_no_leg_does_not_start(
    own_server: Running, database_url: str, tmp_path: Path
) -> None:
    with own_server.client() as mine:
        assert mine.patch("settings", json={"lexical_weight": 0}).status_code == 200
    with (
        pytest.raises(InvalidInput, match="recall could not find anything") as refused,
        running(database_url, tmp_path / "second", embedder="none"),
    ):
        pass
    assert "RECOLLECT_EMBEDDER" in refused.value.remedy
