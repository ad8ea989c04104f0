"""People see local time with its offset; scripts get UTC."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from tests.shells.cli.commands import Cli


@pytest.fixture(autouse=True)
def _in_kathmandu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Kathmandu")
        time.tzset()
        yield
    time.tzset()


def test_times_are_local_with_their_offset_and_json_is_in_utc(cli: Cli) -> None:
    ended = ("--valid-from", "2020-01-01T00:00Z", "--valid-until", "2020-02-01T00:00Z")
    stored = cli.json("remember", "The harbour is closed", *ended)
    assert stored["valid_until"] == "2020-02-01T00:00:00Z"
    end, id = "2020-02-01 05:45+05:45", stored["id"]
    assert f"recalled only until {end}" in cli("audit", "--kind", "expired").stdout
    assert f"it expired at {end}" in cli("why", id, "--query", "harbour").stdout
    shown = {line.split("  ")[0]: line for line in cli("show", id).stdout.splitlines()}
    assert shown["valid until"].endswith(end)
    changed = shown["changed"].split("  ")[-1].strip()
    assert changed.endswith("+05:45")
    assert f"version 1, {changed} by cli" in cli("history", id).stdout
    assert "valid until 2020-02-01 05:45" in " ".join(cli("list").stdout.split())
    assert cli.json("update", id, "--valid-until", end)["valid_until"] == stored["valid_until"]


def test_doctor_shows_the_local_clock(cli: Cli) -> None:
    clock = next(check for check in cli.json("doctor")["checks"] if check["name"] == "clock")
    assert clock["detail"].endswith("+05:45")
