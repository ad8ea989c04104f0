"""The access log names who requested what, and never quotes contents."""

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
    line = next(line for line in capfd.readouterr().err.splitlines() if "/api/v1/recall" in line)
    assert "owner=ana" in line
    assert "client=192.0.2.7" in line
    assert "key=0" in line
    assert key not in line
    assert "wombat" not in line


def test_a_forwarded_address_is_accepted_only_from_a_trusted_proxy(
    database_url: str, tmp_path: Path, log_shown: None, capfd: pytest.CaptureFixture[str]
) -> None:
    with running(database_url, tmp_path) as up, up.client() as mine:
        mine.get("stats", headers={"X-Forwarded-For": "192.0.2.7"})
    log = capfd.readouterr().err
    assert "client=127.0.0.1" in log
    assert "192.0.2.7" not in log


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
    log = capfd.readouterr().err
    assert 'event="sign-in failed" client=127.0.0.1' in log
    assert "rk_guess" not in log
