"""Who asked for what, in the log: never what was said."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from tests.serving import running
from tests.waiting import SECONDS


def test_a_request_is_logged_with_its_key_owner_and_client(
    database_url: str, tmp_path: Path, log_shown: None, capfd: pytest.CaptureFixture[str]
) -> None:
    with running(database_url, tmp_path, trusted_proxies=("127.0.0.1",)) as up:
        key = up.new_key("ana")
        with up.client(key) as mine:
            mine.post("recall", json={"query": "wombat"}, headers={"X-Forwarded-For": "192.0.2.7"})
    line = next(one for one in capfd.readouterr().err.splitlines() if "/api/v1/recall" in one)
    assert "owner=ana" in line
    assert "client=192.0.2.7" in line
    assert "key=0" in line
    assert key not in line
    assert "wombat" not in line


def test_a_forwarded_address_is_believed_of_a_trusted_proxy_alone(
    database_url: str, tmp_path: Path, log_shown: None, capfd: pytest.CaptureFixture[str]
) -> None:
    with running(database_url, tmp_path) as up, up.client() as mine:
        mine.get("stats", headers={"X-Forwarded-For": "192.0.2.7"})
    told = capfd.readouterr().err
    assert "client=127.0.0.1" in told
    assert "192.0.2.7" not in told


def test_the_access_log_can_be_switched_off(
    database_url: str, tmp_path: Path, log_shown: None, capfd: pytest.CaptureFixture[str]
) -> None:
    with running(database_url, tmp_path, access_log="off") as up, up.client() as mine:
        mine.get("stats")
    assert "event=request" not in capfd.readouterr().err


def test_a_failed_sign_in_is_logged_and_counted(
    database_url: str, tmp_path: Path, log_shown: None, capfd: pytest.CaptureFixture[str]
) -> None:
    with running(database_url, tmp_path) as up:
        with up.client("rk_guess") as client:
            assert client.get("stats").status_code == 401
        text = httpx.get(f"{up.url}/api/v1/metrics", timeout=SECONDS).text
    assert "recollect_failed_sign_ins_total 1.0" in text
    told = capfd.readouterr().err
    assert 'event="sign-in failed" client=127.0.0.1' in told
    assert "rk_guess" not in told
