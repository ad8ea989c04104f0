"""Recall and its settings over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.serving import Running

from recollect.core.recall_settings import RecallSettings


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


def recalled(client: httpx.Client, **question: Any) -> dict[str, Any]:
    answer = client.post("recall", json=question)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def found_ids(answer: dict[str, Any]) -> list[str]:
    return [hit["memory"]["id"] for hit in answer["hits"]]


def test_each_hit_says_why_it_is_there(mine: httpx.Client, ids: dict[str, str]) -> None:
    answer = recalled(mine, query="a database on Fridays")
    assert found_ids(answer) == [ids["friday"]]
    first = answer["hits"][0]
    why = first["explanation"]
    assert why["legs"]["lexical"]["rank"] == 1
    assert why["fused"] == pytest.approx(1 / (60 + 1))
    assert why["prior"] == pytest.approx(0.7 + 0.3 * 0.2)
    assert first["score"] == pytest.approx(why["fused"] * why["prior"])
    assert answer["legs"]["lexical"]["status"] == "ran"
    assert answer["degraded"] == []
    assert answer["took_ms"] > 0


def test_without_explain_the_detail_of_the_legs_is_left_out(
    mine: httpx.Client, ids: dict[str, str]
) -> None:
    answer = recalled(mine, query="staging", explain=False)
    assert len(answer["hits"]) == 2
    assert all(hit["explanation"] is None for hit in answer["hits"])
    assert answer["legs"] is None
    assert answer["degraded"] == []


def test_every_part_of_a_question_is_obeyed(mine: httpx.Client, ids: dict[str, str]) -> None:
    assert len(recalled(mine, query="staging", limit=1)["hits"]) == 1
    assert found_ids(recalled(mine, query="staging", exclude=[ids["vpn"]])) == [ids["friday"]]
    assert found_ids(recalled(mine, query="staging", scope={"project": "vpn"})) == [ids["vpn"]]
    assert found_ids(recalled(mine, query="staging", sort_by="importance"))[0] == ids["vpn"]
    assert found_ids(recalled(mine, query="nothing", expanded_query="lunch")) == [ids["lunch"]]
    without = recalled(mine, query="staging", weights={"lexical": 0})
    assert (without["hits"], without["legs"]["lexical"]["status"]) == ([], "skipped")


@pytest.mark.parametrize(
    "query", ["", " ", "\x00", '"; drop table memories; --', "a & | ! <-> :* \\", "🐘" * 300]
)
def test_any_text_is_a_legal_query(mine: httpx.Client, query: str) -> None:
    recalled(mine, query=query, expanded_query=query)


def test_a_changed_setting_is_obeyed_by_the_next_request(own_server: Running) -> None:
    with own_server.client() as mine, own_server.client() as theirs:
        assert mine.get("settings").json() == RecallSettings().as_dict()
        changed = mine.patch("settings", json={"lexical_weight": 0, "rrf_k": 10.0})
        assert (changed.json()["lexical_weight"], changed.json()["rrf_k"]) == (0, 10)
        assert recalled(mine, query="staging")["legs"]["lexical"]["status"] == "skipped"
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
    assert mine.get("settings").json() == RecallSettings().as_dict()
