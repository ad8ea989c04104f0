"""The documentation of the API in a real browser: readable, and its requests can be tried."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.real_parts import CHROMIUM
from tests.serving import Running, running
from tests.shells.web.browser import Tab, open_tab
from tests.waiting import SECONDS

DOCS = "/api/v1/docs"
SCRIPTS = ("docs.js", "element.js", "prose.js", "try.js")


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[Running]:
    with running(database_url, tmp_path / "home") as up:
        yield up


@pytest.fixture
def tab(server: Running, tmp_path: Path) -> Iterator[Tab]:
    with open_tab(CHROMIUM.path(), tmp_path / "profile") as opened:
        opened.go(server.url + DOCS)
        opened.wait("document.querySelectorAll('article').length > 20")
        yield opened


def send(tab: Tab, operation: str, **fields: str) -> str:
    """Fills in the form of an operation and sends it; the status and body of the answer."""
    tab.run(f"document.querySelector('[aria-labelledby={operation}] .try').open = true")
    for name, text in fields.items():
        tab.fill(f"#try-{operation}-{name}", text)
    tab.run(f"document.querySelector('[aria-labelledby={operation}] .try button').click()")
    part = f"document.querySelector('[aria-labelledby={operation}] .try"
    tab.wait(f"/^[0-9]/.test({part} .status').textContent)")
    answered: str = tab.run(f"{part} .status').textContent + {part} pre').textContent")
    return answered


def test_no_script_of_the_page_takes_texts_for_markup(server: Running) -> None:
    for name in SCRIPTS:
        answer = httpx.get(f"{server.url}{DOCS}/{name}", timeout=SECONDS)
        assert answer.status_code == 200
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        assert "://" not in answer.text
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert way not in answer.text


def test_descriptions_are_rendered(tab: Tab) -> None:
    said = "[...document.querySelectorAll('article > p, td')].map((one) => one.textContent)"
    assert not [text for text in tab.run(said) if "`" in text]
    codes = "[...document.querySelectorAll('[aria-labelledby=remember] > p code')]"
    assert "is_sensitive" in tab.run(f"{codes}.map((one) => one.textContent)")
    assert tab.errors == []


def test_a_request_is_tried_with_a_key(tab: Tab, server: Running) -> None:
    refused = send(tab, "stats")
    assert refused.startswith("401")
    assert "Authorization" in refused
    tab.fill("#key", server.new_key())
    stored = send(tab, "remember")
    assert stored.startswith("201")
    id = json.loads(stored[stored.index("{") :])["id"]
    assert id in send(tab, "get_memory", reference=id)
    assert id in send(tab, "list_memories", tags="staging, database")
    assert id not in send(tab, "list_memories", tags="nothing")
    # The refused request is the only complaint, and the key is nowhere but in its field.
    assert all("401" in one for one in tab.errors)
    assert tab.run("localStorage.length + sessionStorage.length") == 0


def test_every_field_has_a_label(tab: Tab) -> None:
    unlabelled = (
        "[...document.querySelectorAll('input, textarea')].filter((one) => !one.labels.length)"
    )
    assert tab.run(f"{unlabelled}.length") == 0
    ids = tab.run("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))
