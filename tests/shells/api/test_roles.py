"""What each role may do: every way into a server declares the role it needs, and keeps to it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from starlette.routing import Route
from tests.serving import Running
from tests.strategies import new_id
from tests.waiting import SECONDS

from recollect.core.privacy.keys import ROLES
from recollect.shells.api.app import OPEN_PATHS, create_app
from recollect.shells.api.context import REQUIRED_ROLE
from recollect.shells.mcp.tools import TOOLS
from recollect.shells.serve import MCP, compose
from recollect.shells.web import page_routes

BODIES: dict[str, dict[str, Any]] = {
    "remember": {"content": "tea"},
    "remember_many": {"memories": [{"content": "tea"}]},
    "export_memories": {"ids": [str(new_id())]},
    "update_memory": {"content": "coffee"},
    "recall": {"query": "tea"},
    "why": {"query": "tea", "id": "01890a5d"},
    "change_settings": {"depth": 50},
    "erase_owner": {"owner": "ada"},
    "sync_push": {"protocol": 1, "store": str(new_id()), "memories": [], "revisions": []},
    "graph_merge": {"into": "a", "other": "b"},
    "graph_split": {"concept": "a", "alias": "b"},
    "resolve_conflict": {"keep": "current"},
    "create_key": {},
    "rotate_key": {},
}
QUERIES: dict[str, dict[str, Any]] = {
    "search_episodes": {"q": "tea"},
    "sync_pull": {"protocol": 1, "store": str(new_id()), "cursor": 0},
    "graph_concept": {"name": "tea"},
    "graph_path": {"source": "tea", "target": "milk"},
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "memory_store": {"content": "tea"},
    "memory_recall": {"query": "tea"},
    "memory_why": {"id": "01890a5d", "query": "tea"},
    "memory_get": {"id": "01890a5d"},
    "memory_update": {"id": "01890a5d", "content": "coffee"},
    "memory_delete": {"id": "01890a5d"},
    "memory_review": {"id": "01890a5d", "decision": "reject"},
}
FILLED = {"reference": "01890a5d", "version": 1, "kind": "supersedes", "target": "01890a5e"}


@pytest.fixture(scope="module")
def operations(shared_server: Running) -> list[tuple[str, str, dict[str, Any]]]:
    document = create_app(shared_server.server).openapi()
    return [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_route_declares_the_role_it_requires(
    shared_server: Running, operations: list[tuple[str, str, dict[str, Any]]]
) -> None:
    assert len(operations) > 20
    for method, path, operation in operations:
        assert (path in OPEN_PATHS) != (operation.get(REQUIRED_ROLE) in ROLES), (method, path)
    app, _ = compose(shared_server.server)
    plain = {route.path for route in app.router.routes if isinstance(route, Route)}
    pages = {route.path for route in page_routes()}
    assert plain - OPEN_PATHS - pages == {MCP}
    assert {tool.role for tool in TOOLS} <= set(ROLES)


@pytest.mark.parametrize("role", ROLES)
def test_each_role_may_use_its_routes_and_no_others(
    own_server: Running, operations: list[tuple[str, str, dict[str, Any]]], role: Any
) -> None:
    """Where it may, the answer is up to the route; where it may not, it is 403."""
    with own_server.client(own_server.new_key("ada", role=role)) as client:
        for method, path, operation in operations:
            if path in OPEN_PATHS:
                continue
            needed, name = operation[REQUIRED_ROLE], operation["operationId"]
            answer = client.request(
                method,
                path.removeprefix("/api/v1").format(**FILLED),
                json=BODIES.get(name),
                params=QUERIES.get(name),
            )
            is_refused = ROLES.index(role) < ROLES.index(needed)
            shown = (name, answer.status_code, answer.text)
            assert (answer.json().get("type") == "urn:recollect:problem:forbidden") == is_refused, (
                shown
            )
            assert answer.status_code not in (400, 401, 405, 500), shown
            assert (answer.status_code == 403) == is_refused, shown
            if is_refused:
                assert answer.json()["detail"] == (
                    f"this needs a key with the role {needed}; this key's role is {role}"
                )
                assert f"recollect keys create --role {needed}" in answer.json()["remedy"]


def test_a_member_cannot_change_the_recall_settings_of_all(own_server: Running) -> None:
    with own_server.client(own_server.new_key(role="member")) as member:
        assert member.patch("settings", json={"lexical_weight": 0}).status_code == 403
        assert member.get("settings").json()["lexical_weight"] == 1.0


def test_a_read_only_key_cannot_write_over_any_way_in(own_server: Running) -> None:
    key = own_server.new_key("ada", role="read-only")
    with own_server.client(key) as reader:
        for tool in TOOLS:
            answer = call(own_server, key, tool.name, ARGUMENTS.get(tool.name, {}))
            assert ("role member" in answer) is (tool.role != "read-only"), (tool.name, answer)
        assert reader.get("stats").json()["memories"] == 0
        body = {**BODIES["sync_push"], "memories": [outgoing("tea")]}
        assert reader.post("sync/push", json=body).status_code == 403
    with own_server.client(own_server.new_key("ada", role="member")) as member:
        assert member.get("memories").json()["memories"] == []
        assert member.post("sync/push", json=body).status_code == 200
        assert len(member.get("memories").json()["memories"]) == 1


def call(server: Running, key: str, tool: str, arguments: dict[str, Any]) -> str:
    """Call a tool of the MCP endpoint and return its answer."""
    answer = httpx.post(
        f"{server.url}/mcp",
        headers={
            "Authorization": f"Bearer {key}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-06-18",
        },
        json={
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        },
        timeout=SECONDS,
        trust_env=False,
    )
    assert answer.status_code == 200, answer.text
    return str(answer.json()["result"])


def outgoing(content: str, **fields: Any) -> dict[str, Any]:
    """Return one write of a push: a new memory."""
    moment = "2026-03-06T09:30:00Z"
    return {
        "id": str(new_id()),
        "edit": str(new_id()),
        "based_on": 0,
        "version": 1,
        "fields": {"content": content, **fields},
        "created_at": moment,
        "updated_at": moment,
    }


def test_erasing_another_owner_is_forbidden(own_server: Running) -> None:
    with own_server.client(own_server.new_key("ada")) as client:
        assert client.post("erase", json={"owner": "bob"}).status_code == 403
