"""Many memories in one request."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.strategies import new_id

from recollect.core.memory.batch import MAX_BATCH


def send_batch(client: httpx.Client, *memories: Any) -> dict[str, Any]:
    answer = client.post("/memories:batch", json={"memories": [*memories]})
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def test_each_memory_has_its_own_result(mine: httpx.Client) -> None:
    id = str(new_id())
    done = send_batch(
        mine,
        {"content": "Nadia prefers tea.", "tags": ["drinks"], "id": id},
        {"content": " "},
        {"content": "Typo.", "tgas": ["x"]},
        {"content": 7},
        {"content": "An episode without a session.", "category": "episode"},
    )
    assert (done["stored"], done["present"], done["refused"]) == (1, 0, 4)
    assert done["results"][0] == {"id": id, "outcome": "stored"}
    assert [result["problem"]["field"] for result in done["results"][1:]] == [
        "content",
        "tgas",
        "content",
        "session",
    ]
    assert all(result["problem"]["remedy"] for result in done["results"][1:])
    assert mine.get(f"memories/{id}").json()["tags"] == ["drinks"]
    assert mine.get("stats").json()["memories"] == 1


def test_repeating_a_request_is_harmless(mine: httpx.Client) -> None:
    memories = [{"content": f"fact {number}", "id": str(new_id())} for number in range(3)]
    assert send_batch(mine, *memories)["stored"] == 3
    again = send_batch(mine, *memories, {"content": "another", "id": memories[0]["id"]})
    assert (again["present"], again["refused"]) == (3, 1)
    assert again["results"][3]["problem"]["type"] == "urn:recollect:problem:conflict"
    assert mine.get("stats").json()["memories"] == 3


def test_a_batch_reports_what_was_marked_sensitive(mine: httpx.Client) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (result,) = send_batch(mine, {"content": f"the token is {token}"})["results"]
    assert result["sensitive_because"]["kind"]
    assert token not in str(result)


def test_an_id_of_another_owner_is_free(mine: httpx.Client, theirs: httpx.Client) -> None:
    id = str(new_id())
    send_batch(theirs, {"content": "theirs alone", "id": id})
    (result,) = send_batch(mine, {"content": "theirs alone", "id": id})["results"]
    assert result["outcome"] == "stored"


@pytest.mark.parametrize(
    "body",
    [
        {"memories": [{"content": "x"}] * (MAX_BATCH + 1)},
        {"memories": ["a text"]},
        {"memories": {"content": "x"}},
        {"memory": []},
    ],
    ids=["too many", "not objects", "not a list", "misspelt"],
)
def test_a_request_of_the_wrong_shape_stores_nothing(mine: httpx.Client, body: object) -> None:
    answer = mine.post("/memories:batch", json=body)
    assert answer.status_code == 422
    assert answer.json()["remedy"]
    assert mine.get("stats").json()["memories"] == 0


def test_a_batch_needs_a_key(mine: httpx.Client) -> None:
    refused = httpx.post(f"{mine.base_url}memories:batch", json={"memories": []}, trust_env=False)
    assert refused.status_code == 401
    assert send_batch(mine) == {"stored": 0, "present": 0, "refused": 0, "results": []}
