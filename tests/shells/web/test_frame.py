"""The frame of the page: what is served, signing in, deep links, a server that goes away."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, expect
from tests.effort import sample
from tests.serving import Running, running
from tests.shells.web.conftest import PHONE, OpenPage, Watched
from tests.waiting import SECONDS

from recollect.core.memory.memory import CATEGORIES
from recollect.shells.web import page_routes

TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
NAMESPACE = "http://www.w3.org/2000/svg"  # a name, nothing is fetched from there
VIEWS = ("home", "memories", "recall", "graph", "review", "admin")
FIRST_VIEW_BYTES = 100_000


@pytest.fixture(scope="module")
def assets(server: Running) -> dict[str, httpx.Response]:
    paths = [route.path for route in page_routes()]
    return {path: httpx.get(server.url + path, timeout=SECONDS) for path in paths}


def test_every_file_is_served_with_its_type_and_a_strict_policy(
    assets: dict[str, httpx.Response],
) -> None:
    assert {"/", "/assets/page.js", "/assets/page.css", "/assets/home/home.js"} <= assets.keys()
    for path, answer in assets.items():
        assert answer.status_code == 200, path
        expected = TYPES.get(path.rpartition(".")[2], "text/html")
        assert answer.headers["Content-Type"].startswith(expected), path
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert "://" not in answer.text.replace(NAMESPACE, ""), path


def test_no_file_takes_text_for_markup(assets: dict[str, httpx.Response]) -> None:
    for path, answer in assets.items():
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert way not in answer.text, path
        assert not re.search(r"<script(?![^>]*\bsrc=)", answer.text), path
        assert not re.search(r"\son\w+=|\sstyle=", answer.text), path


def test_the_page_knows_every_category(assets: dict[str, httpx.Response]) -> None:
    page = assets["/"].text
    assert f'data-categories="{" ".join(CATEGORIES)}"' in page
    assert "{{" not in page


def test_signing_in_needs_a_known_key(
    server: Running, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed = ("401",)
    page = open_page(None)
    expect(page.get_by_label("Key", exact=True)).to_be_focused()
    page.keyboard.type("rk_wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Unknown key")
    assert page.evaluate("sessionStorage.length") == 0
    page.get_by_label("Key", exact=True).fill(server.new_key())
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Nothing is stored yet")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Key", exact=True)).to_be_focused()
    assert page.evaluate("sessionStorage.length + localStorage.length") == 0


@pytest.mark.parametrize("view", sample(VIEWS, 2))
def test_every_view_opens_by_its_address_and_survives_a_reload(
    server: Running, open_page: OpenPage, view: str
) -> None:
    page = open_page(server.new_key(), f"#/{view}")
    element = page.locator(f"rc-{view}")
    expect(element).to_be_visible()
    expect(page.get_by_role("link", name=view.title())).to_have_attribute("aria-current", "page")
    page.reload()
    expect(element).to_be_visible()
    expect(page).to_have_title(f"{view.title()} · Recollect")


def test_back_returns_to_the_former_view(server: Running, open_page: OpenPage) -> None:
    page = open_page(server.new_key(), "#/home")
    page.get_by_role("link", name="Admin").click()
    expect(page.locator("rc-admin")).to_be_visible()
    page.go_back()
    expect(page.locator("rc-home")).to_be_visible()


def test_a_server_that_goes_away_is_reported_until_it_is_back(
    database_url: str, tmp_path: Path, browser: Browser
) -> None:
    watched = Watched()
    watched.allowed = ("ERR_", "Failed to load resource")
    with running(database_url, tmp_path / "one") as first:
        key = first.new_key("ada")
        port = urlsplit(first.url).port or 0
        page = browser.new_page()
        watched.watch(page, urlsplit(first.url).netloc)
        page.goto(f"{first.url}/")
        page.get_by_label("Key", exact=True).fill(key)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Nothing is stored yet")).to_be_visible()
    away = page.locator("#away")
    expect(away).to_contain_text("cannot be reached", timeout=SECONDS * 1000)
    with running(database_url, tmp_path / "two", port=port) as second:
        with second.client(second.new_key("ada")) as client:
            client.post("memories", json={"content": "written while the page waited"})
        expect(away).to_be_hidden(timeout=SECONDS * 1000)
        expect(page.locator(".total").first).to_contain_text("1", timeout=SECONDS * 1000)
        page.close()
    assert watched.foreign == []
    assert watched.complaints == []


@pytest.mark.parametrize("body", ["<html>Bad gateway</html>", '{"status": 503}'])
def test_an_error_of_a_proxy_keeps_the_key(
    server: Running, open_page: OpenPage, watched: Watched, body: str
) -> None:
    watched.allowed = ("503",)
    key = server.new_key()
    page = open_page(key, "#/home")
    expect(page.get_by_role("heading", name="Nothing is stored yet")).to_be_visible()
    page.route("**/api/v1/table*", lambda route: route.fulfill(status=503, body=body))
    page.get_by_role("link", name="Memories", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("check the proxy")
    assert page.evaluate("sessionStorage.getItem('recollect-key')") == key
    page.unroute("**/api/v1/table*")
    page.get_by_role("link", name="Home").click()
    expect(page.get_by_role("heading", name="Nothing is stored yet")).to_be_visible()


def test_live_updates_show_what_others_write(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        client.post("memories", json={"content": "the first"})
        page = open_page(key, "#/memories")
        expect(page.locator(".grid-row:visible")).to_have_count(1)
        client.post("memories", json={"content": "the second"})
        expect(page.locator(".grid-row:visible")).to_have_count(2)


def test_the_first_view_is_small(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        client.post("memories", json={"content": "one"})
    page = open_page(key)
    expect(page.locator(".totals")).to_be_visible()
    sizes = page.evaluate("performance.getEntries().map((entry) => entry.decodedBodySize ?? 0)")
    assert 0 < sum(sizes) < FIRST_VIEW_BYTES


@pytest.mark.parametrize("view", sample(VIEWS, 2))
def test_no_view_is_wider_than_a_phone(server: Running, open_page: OpenPage, view: str) -> None:
    key = server.new_key()
    with server.client(key) as client:
        word = "x" * 3000
        client.post("memories", json={"content": word, "tags": [word[:150]], "project": word[:400]})
    page = open_page(key, f"#/{view}", viewport=PHONE)
    expect(page.locator(f"rc-{view}")).to_be_visible()
    page.wait_for_load_state("load")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    expect(page.get_by_role("navigation", name="Views")).to_be_in_viewport()
