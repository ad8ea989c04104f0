"""The documentation of the API in a real browser: readable, and its requests can be tried."""

from __future__ import annotations

import json

import httpx
import pytest
from playwright.sync_api import Page, expect
from tests.serving import Running
from tests.shells.web.conftest import OpenPage, Watched
from tests.waiting import SECONDS

DOCS = "/api/v1/docs"
SCRIPTS = ("docs.js", "element.js", "prose.js", "try.js")


@pytest.fixture
def docs(open_page: OpenPage) -> Page:
    page = open_page(None, DOCS.removeprefix("/"))
    expect(page.locator("article").nth(20)).to_be_visible()
    return page


def send(page: Page, operation: str, **fields: str) -> str:
    """Fill in and send the form of an operation; return the status and body of the answer."""
    form = page.locator(f"[aria-labelledby={operation}] .try")
    form.evaluate("(form) => { form.open = true; }")
    for name, text in fields.items():
        page.locator(f"#try-{operation}-{name}").fill(text)
    status = form.locator(".status")
    with page.expect_response(lambda answer: "/api/v1/" in answer.url) as answered:
        form.get_by_role("button").click()
    expect(status).to_contain_text(str(answered.value.status))
    return status.inner_text() + form.locator("pre").inner_text()


def test_no_script_of_the_page_takes_texts_for_markup(server: Running) -> None:
    for name in SCRIPTS:
        answer = httpx.get(f"{server.url}{DOCS}/{name}", timeout=SECONDS)
        assert answer.status_code == 200
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        assert "://" not in answer.text
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert way not in answer.text


def test_descriptions_are_rendered(docs: Page) -> None:
    texts = docs.locator("article > p, td").all_text_contents()
    assert texts
    assert not [text for text in texts if "`" in text]
    codes = docs.locator("[aria-labelledby=remember] > p code").all_text_contents()
    assert "is_sensitive" in codes


def test_a_request_is_tried_with_a_key(docs: Page, server: Running, watched: Watched) -> None:
    watched.allowed = ("401",)
    refused = send(docs, "stats")
    assert refused.startswith("401")
    assert "Authorization" in refused
    docs.locator("#key").fill(server.new_key())
    stored = send(docs, "remember")
    assert stored.startswith("201")
    id = json.loads(stored[stored.index("{") :])["id"]
    assert id in send(docs, "get_memory", reference=id)
    assert id in send(docs, "list_memories", tags="staging, database")
    assert id not in send(docs, "list_memories", tags="nothing")
    # The key is nowhere but in its field.
    assert docs.evaluate("localStorage.length + sessionStorage.length") == 0


def test_every_field_has_a_label(docs: Page) -> None:
    unlabelled = (
        "[...document.querySelectorAll('input, textarea')].filter((one) => !one.labels.length)"
    )
    assert docs.evaluate(f"{unlabelled}.length") == 0
    ids = docs.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))
