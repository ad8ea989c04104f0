"""Keys over the API: an admin lists, creates, rotates and revokes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.serving import Running


def test_the_text_of_a_key_is_shown_once(own_server: Running) -> None:
    with own_server.client(own_server.new_key("ada")) as admin:
        created = admin.post("keys", json={"owner": "bob", "label": "phone", "role": "read-only"})
        assert created.status_code == 201
        key = created.json().pop("key")
        listed = admin.get("keys")
        assert key not in listed.text
        assert [key["role"] for key in listed.json()["keys"]] == ["admin", "read-only"]
        assert listed.json()["keys"][1] == {
            name: value for name, value in created.json().items() if name != "key"
        }
    with own_server.client(key) as bob:
        assert bob.get("stats").status_code == 200
        assert bob.get("keys").status_code == 403


def test_a_key_belongs_to_the_admins_owner_unless_said(own_server: Running) -> None:
    with own_server.client(own_server.new_key("ada")) as admin:
        created = admin.post("keys", json={}).json()
        assert (created["owner"], created["role"], created["project"]) == ("ada", "member", None)


def test_a_revoked_key_is_refused_and_cannot_be_revoked_again(own_server: Running) -> None:
    with own_server.client(own_server.new_key("ada")) as admin:
        created = admin.post("keys", json={}).json()
        path = f"keys/{created['id']}"
        assert admin.delete(path).json() == {"revoked": created["id"]}
        assert admin.delete(path).status_code == 404
        with own_server.client(created["key"]) as member:
            assert member.get("stats").status_code == 401


@pytest.mark.parametrize(("grace", "status"), [(0, 401), (3600, 200)])
def test_a_rotated_key_ends_at_once_or_after_a_grace_period(
    own_server: Running, grace: int, status: int
) -> None:
    with own_server.client(own_server.new_key("ada")) as admin:
        old = admin.post("keys", json={"project": "shop", "label": "phone"}).json()
        new = admin.post(f"keys/{old['id']}/rotate", json={"grace_seconds": grace}).json()
        assert new["key"] != old["key"]
        assert (new["project"], new["label"]) == ("shop", "phone")
    for key, expected in ((old["key"], status), (new["key"], 200)):
        with own_server.client(key) as client:
            assert client.get("stats").status_code == expected


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"role": "root"}, "role"),
        ({"owner": " "}, "owner"),
        ({"project": " "}, "project"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "tomorrow"}, "expires_at"),
        ({"role": "admin", "project": "shop"}, "project"),
    ],
)
def test_a_key_that_makes_no_sense_is_refused(
    own_server: Running, body: dict[str, str], field: str
) -> None:
    with own_server.client(own_server.new_key("ada")) as admin:
        answer = admin.post("keys", json=body)
        assert (answer.status_code, answer.json()["field"]) == (422, field)
        assert len(admin.get("keys").json()["keys"]) == 1


@pytest.mark.parametrize("grace", [-1, 400 * 86_400, 10**30])
def test_a_grace_period_has_an_end(own_server: Running, grace: int) -> None:
    with own_server.client(own_server.new_key("ada")) as admin:
        created = admin.post("keys", json={}).json()
        answer = admin.post(f"keys/{created['id']}/rotate", json={"grace_seconds": grace})
        assert (answer.status_code, answer.json()["field"]) == (422, "grace")


def test_an_expired_key_is_refused(own_server: Running, database_url: str) -> None:
    import psycopg

    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    with own_server.client(own_server.new_key("ada")) as admin:
        created = admin.post("keys", json={"expires_at": tomorrow}).json()
    with own_server.client(created["key"]) as client:
        assert client.get("stats").status_code == 200
        with psycopg.connect(database_url) as connection:
            connection.execute("update keys set expires_at = now() where role = 'member'")
        answer = client.get("stats")
        assert answer.status_code == 401
        assert "expired on" in answer.json()["detail"]
