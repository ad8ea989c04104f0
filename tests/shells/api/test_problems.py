"""Whatever is sent, the answer is a problem that says what to do, and never a 500."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

JSON = {"Content-Type": "application/json"}


def problem(answer: httpx.Response) -> dict[str, Any]:
    """The answer's problem, after checking what all problems have."""
    assert answer.headers["Content-Type"] == "application/problem+json", answer.text
    body: dict[str, Any] = answer.json()
    assert body["status"] == answer.status_code
    assert body["type"].startswith("urn:recollect:problem:")
    assert all(body[name] for name in ("title", "detail", "remedy"))
    return body


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"", 422, "body"),
        (b"{", 400, "body"),
        (b"null", 422, "body"),
        (b"[]", 422, "body"),
        (b'"text"', 422, "body"),
        (b'{"content": "\xff\xfe"}', 400, "body"),
        (b'{"\\ud800": 1, "content": "x"}', 422, "body"),
        (b'{"content": "a \\u0000 b"}', 422, "content"),
        (b'{"content": "x", "tags": ["\\u0000"]}', 422, "tags"),
        (b'{"content": "x", "category": "\\ud800"}', 422, "category"),
        (b'{"content": "x", "importance": 1e999}', 422, "importance"),
        (b'{"content": "x", "importance": NaN}', 422, "importance"),
        (b'{"content": "x", "importance": -1e-9}', 422, "importance"),
        (b'{"content": "x", "importance": ' + b"9" * 400 + b"}", 422, "importance"),
        (b'{"content": "x", "importance": ' + b"9" * 5000 + b"}", 400, "body"),
        (b'{"content": ' + b"[" * 200_000 + b"}", 400, "body"),
        (b'{"content": ' + b'{"a":' * 200_000, 400, "body"),
        (b'{"content": "   "}', 422, "content"),
        (b'{"content": 7}', 422, "content"),
        (b'{"content": "x", "importance": "0.5"}', 422, "importance"),
        (b'{"content": "x", "importance": true}', 422, "importance"),
        (b'{"content": "x", "category": "rumour"}', 422, "category"),
        (b'{"content": "x", "category": "episode"}', 422, "session"),
        (b'{"content": "x", "id": "not an id"}', 422, "id"),
        (b'{"content": "x", "contents": "y"}', 422, "contents"),
        (json.dumps({"content": "x" * 100_001}).encode(), 422, "content"),
        (b'{"content": "' + b"x" * 1_048_576 + b'"}', 413, None),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, bytes) else None,
)
def test_a_body_that_cannot_be_used_is_refused_with_its_remedy(
    mine: httpx.Client, body: bytes, status: int, field: str | None
) -> None:
    answer = mine.post("memories", content=body, headers=JSON)
    refused = problem(answer)
    assert (refused["status"], refused.get("field")) == (status, field)
    assert mine.get("stats").json()["memories"] == 0


def test_halves_of_surrogate_pairs_are_replaced(mine: httpx.Client) -> None:
    body = rb'{"content": "half \ud800 a pair", "tags": ["\udfff"]}'
    stored = mine.post("memories", content=body, headers=JSON).json()
    assert (stored["content"], stored["tags"]) == ("half \ufffd a pair", ["\ufffd"])
    found = mine.post("recall", content=rb'{"query": "\ud800 pair"}', headers=JSON).json()
    assert [hit["memory"]["id"] for hit in found["hits"]] == [stored["id"]]


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ({}, "query"),
        ({"query": "x", "limit": 0}, "limit"),
        ({"query": "x", "limit": 10**400}, "limit"),
        ({"query": "x", "weights": {"lexical": 5.01}}, "lexical_weight"),
        ({"query": "x", "weights": {"smell": 1}}, "weights.smell"),
        ({"query": "x", "sort_by": "mood"}, "sort_by"),
        ({"query": "x", "exclude": ["0193"]}, "exclude.0"),
        ({"query": "x", "scope": {"project": "\0"}}, "project"),
        ({"query": "x", "scope": {"since": 1}}, "scope.since"),
        ({"query": "x", "scope": {"since": "0"}}, "scope.since"),
        ({"query": "x", "scope": {"since": "2026-01-01T00:00:00"}}, "scope.since"),
        ({"query": "x", "scope": {"since": "0001-01-01T00:00:00+23:59"}}, "scope.since"),
    ],
    ids=str,
)
def test_a_question_that_cannot_be_asked_names_the_field(
    mine: httpx.Client, question: dict[str, Any], field: str
) -> None:
    refused = problem(mine.post("recall", json=question))
    assert (refused["status"], refused["field"]) == (422, field)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=many", "limit"),
        ("cursor=nonsense", "cursor"),
        ("cursor=%ff", "cursor"),
        ("project=%00", "project"),
        ("since=yesterday", "since"),
        ("categories=rumour", "category"),
        ("colour=blue", "colour"),
    ],
)
def test_a_listing_that_cannot_be_made_names_the_parameter(
    mine: httpx.Client, query: str, field: str
) -> None:
    refused = problem(mine.get(f"memories?{query}"))
    assert (refused["status"], refused["field"]) == (422, field)


@pytest.mark.parametrize("reference", ["019", "xyz", "%00", "%ff", "🐘", "0" * 33, "-" * 40])
def test_a_reference_that_is_no_id_is_refused(mine: httpx.Client, reference: str) -> None:
    for method in ("GET", "DELETE"):
        refused = problem(mine.request(method, f"memories/{reference}"))
        assert (refused["status"], refused["field"]) == (422, "id")


def test_a_body_with_another_content_type_is_refused(mine: httpx.Client) -> None:
    answer = mine.post("memories", content=b'{"content": "x"}', headers={"Content-Type": "x/y"})
    assert "Content-Type: application/json" in problem(answer)["remedy"]


def test_unknown_paths_and_methods_are_problems(mine: httpx.Client) -> None:
    assert problem(mine.get("no/such/path"))["status"] == 404
    assert problem(mine.get("memories/"))["status"] == 404
    refused = mine.put("memories", json={})
    assert problem(refused)["status"] == 405
    assert set(refused.headers["Allow"].split(", ")) == {"GET", "POST"}
    assert problem(mine.get(httpx.URL(mine.base_url).join("/nowhere")))["status"] == 404


def test_a_body_without_a_length_is_limited_as_well(mine: httpx.Client) -> None:
    chunks = (b" " * 65_536 for _ in range(40))
    answer = mine.post("memories", content=chunks, headers=JSON)
    assert problem(answer)["status"] == 413
    assert mine.get("stats").status_code == 200


def test_a_full_memory_fits_into_a_request(mine: httpx.Client) -> None:
    """The largest content that is allowed, of characters that JSON writes as 12 bytes each."""
    body = json.dumps({"content": "🐘" * 8000}).encode("ascii")
    assert mine.post("memories", content=body, headers=JSON).status_code == 201


@pytest.mark.parametrize(
    ("path", "body", "detail", "remedy"),
    [
        ("memories", {"content": "x", "importance": "high"}, "importance is not a number", "0 (t"),
        ("memories", {"content": "x", "tags": 5}, "tags is not a list of texts", "a list of"),
        ("memories", {"content": "x", "tags": ["a", 5]}, "tags is not a list of texts", "a list"),
        ("memories", {"content": "x", "is_sensitive": "no"}, "is_sensitive is not true or", "true"),
        ("memories", {"content": "x", "id": "abc"}, "id is not a full id", "36 characters"),
        ("memories", {"content": "x", "colour": 1}, "unknown field 'colour'", "Remove it"),
        ("memories", {}, "content is missing", "Add it"),
        ("recall", {"query": "x", "limit": "ten"}, "limit is not a whole number", "such as 10"),
        ("recall", {"query": "x", "as_of": "yesterday"}, "as_of should be a date", "2026-01-31T"),
        ("recall", {"query": "x", "weights": {"dense": "a"}}, "weights.dense is not a n", "0 to 5"),
        ("recall", {"query": "x", "weights": {"smell": 1}}, "weights.smell has an inv", "lexical"),
        ("recall", {"query": "x", "sort_by": "mood"}, "sort_by has an invalid", "importance"),
        ("recall", {"query": "x", "scope": 5}, "scope is not a scope", '"project"'),
    ],
)
def test_wrong_type_is_reported_in_our_own_words(
    mine: httpx.Client, path: str, body: dict[str, Any], detail: str, remedy: str
) -> None:
    refused = problem(mine.post(path, content=json.dumps(body), headers=JSON))
    assert refused["status"] == 422
    assert refused["detail"].startswith(detail)
    assert remedy in refused["remedy"]
    assert "Input should" not in refused["detail"] + refused["remedy"]


def test_wrong_setting_type_is_reported_with_its_range(mine: httpx.Client) -> None:
    refused = problem(mine.patch("settings", json={"depth": "ten"}))
    assert refused["field"] == "depth"
    assert refused["remedy"].startswith("Give a whole number from 1 to 1000.")
