"""The admin view: settings, keys and what a server says about itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.serving import Running, running
from tests.shells.web.conftest import OpenPage


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[Running]:
    """One per test: they change and count what all owners share."""
    with running(database_url, tmp_path / "home") as up:
        yield up


def test_admin_changes_a_setting_and_its_log_shows_it(server: Running, open_page: OpenPage) -> None:
    page = open_page(server.new_key("operator"), "#/admin")
    weight = page.get_by_label("Weight of meaning")
    weight.fill("0.8")
    weight.press("Enter")
    expect(page.get_by_text("Weight of meaning: 0.65 → 0.8")).to_be_visible()
    log = page.locator("section", has=page.get_by_role("heading", name="Change log"))
    expect(log.locator("tbody tr").first).to_contain_text("operator")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("Weight of meaning")).to_have_value("0.65")


def test_admin_shows_what_others_change(server: Running, open_page: OpenPage) -> None:
    key = server.new_key("operator", label="page")
    page = open_page(key, "#/admin")
    weight, depth = page.get_by_label("Weight of meaning"), page.get_by_label("Search depth")
    expect(weight).to_have_value("0.65")
    page.get_by_label("Label").fill("half a label")
    with server.client(key) as client:
        client.patch("settings", json={"dense_weight": 0.9})
        expect(weight).to_have_value("0.9")
        log = page.locator("section", has=page.get_by_role("heading", name="Change log"))
        expect(log.locator("tbody tr")).to_have_count(1)
        # Where someone types, nothing changes until they leave.
        depth.focus()
        page.keyboard.type("1")
        typed = depth.input_value()
        client.patch("settings", json={"dense_weight": 0.7})
        expect(log.locator("tbody tr")).to_have_count(2)
        expect(depth).to_be_focused()
        expect(depth).to_have_value(typed)
    expect(page.get_by_label("Label")).to_have_value("half a label")


def test_the_key_in_use_was_used(server: Running, open_page: OpenPage) -> None:
    page = open_page(server.new_key("operator", label="mine"), "#/admin")
    row = page.locator("tr", has_text="mine")
    expect(row).to_be_visible()
    expect(row).not_to_contain_text("never")


def test_admin_names_one_remedy_for_a_missing_model(server: Running, open_page: OpenPage) -> None:
    page = open_page(server.new_key(), "#/admin")
    expect(page.get_by_text("No model is in use")).to_be_visible()
    assert "RECOLLECT_EMBEDDER" not in page.locator("rc-admin").inner_text()


def test_admin_creates_and_revokes_keys(server: Running, open_page: OpenPage) -> None:
    page = open_page(server.new_key(), "#/admin")
    page.get_by_label("Label").fill("laptop")
    page.get_by_role("button", name="Create a key").click()
    expect(page.get_by_text("shown only this once")).to_contain_text("rk_")
    row = page.locator("tr", has_text="laptop")
    row.get_by_role("button", name="Revoke").click()
    row.get_by_role("button", name="Really revoke").click()
    expect(row).to_contain_text("revoked")


def test_admin_rotates_a_key(server: Running, open_page: OpenPage) -> None:
    page = open_page(server.new_key(), "#/admin")
    page.get_by_label("Label").fill("laptop")
    page.get_by_role("button", name="Create a key").click()
    first = page.get_by_text("shown only this once").locator("code").inner_text()
    row = page.locator("tr", has_text="laptop")
    row.get_by_role("button", name="Rotate").click()
    row.get_by_role("button", name="Cancel").click()
    row.get_by_role("button", name="Rotate").click()
    row.get_by_role("button", name="Really rotate").click()
    expect(row).to_have_count(2)
    second = page.get_by_text("shown only this once").locator("code").inner_text()
    for key, status in ((first, 401), (second, 200)):
        with server.client(key) as client:
            assert client.get("settings").status_code == status


def test_admin_plots_the_last_own_benchmark(server: Running, open_page: OpenPage) -> None:
    scores = {"set": "own", "stratum": "overall", "metric": "R@10", "queries": 40}
    results = [
        {**scores, "config": "lexical", "value": 0.61, "low": 0.5, "high": 0.7},
        {**scores, "config": "hybrid", "value": 0.84, "low": 0.75, "high": 0.9},
    ]
    folder = server.server.settings.home / "bench" / "own"
    folder.mkdir(parents=True)
    report = {"results": results, "provenance": {"current_configuration": "hybrid"}}
    (folder / "report.json").write_text(json.dumps(report))
    page = open_page(server.new_key(), "#/admin")
    plot = page.get_by_role("region", name="All questions")
    expect(plot.locator("li")).to_contain_text(["61%", "84%"])
    expect(plot.locator("strong")).to_have_text("hybrid")
    expect(plot.get_by_title("75% to 90%")).to_be_visible()
