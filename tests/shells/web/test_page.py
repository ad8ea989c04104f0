"""The page and its assets: served with the right types, fenced in, and nothing from elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.real_parts import CHROMIUM
from tests.serving import Running, running
from tests.shells.web.browser import Tab, open_tab
from tests.waiting import SECONDS

from recollect.core.memory.memory import CATEGORIES
from recollect.core.recall.settings import RecallSettings

TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[Running]:
    with running(database_url, tmp_path / "home") as up:
        yield up


def assets(server: Running) -> dict[str, httpx.Response]:
    """The page and every file it names, directly or from one of its scripts."""
    found: dict[str, httpx.Response] = {}
    waiting = ["/"]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found[path] = httpx.get(server.url + path, timeout=SECONDS)
        text = found[path].text
        waiting += re.findall(r'<(?:link|script|img)[^>]*(?:href|src)="(/[^"]*)"', text)
        waiting += [f"/assets/{name}" for name in re.findall(r'from "\./([^"]+)"', text)]
    return found


def test_the_page_and_all_it_names_are_served_and_fenced_in(server: Running) -> None:
    found = assets(server)
    assert {"/", "/assets/page.js", "/assets/view.js", "/assets/page.css"} <= found.keys()
    for path, answer in found.items():
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


def test_memories_are_only_ever_inserted_as_text(server: Running) -> None:
    for path, answer in assets(server).items():
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert way not in answer.text, path
        assert not re.search(r"<script(?![^>]*\bsrc=)", answer.text), path
        assert not re.search(r"\son\w+=|\sstyle=", answer.text), path


def test_the_page_offers_every_category(server: Running) -> None:
    page = assets(server)["/"].text
    assert re.findall("<option>(.*?)</option>", page) == [*CATEGORIES]
    assert "{{" not in page


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Tab]:
    with open_tab(CHROMIUM.path(), tmp_path / "profile") as opened:
        yield opened


def texts(tab: Tab, selector: str) -> list[str]:
    found = tab.run(f"[...document.querySelectorAll('{selector}')].map((one) => one.textContent)")
    assert isinstance(found, list)
    return found


def test_the_page_shows_links(server: Running, tab: Tab) -> None:
    key = server.new_key()
    with server.client(key) as client:

        def stored(content: str, **links: str) -> str:
            sent = [{"kind": kind, "target": target} for kind, target in links.items()]
            answer = client.post("memories", json={"content": content, "links": sent})
            return str(answer.json()["id"])

        old = stored("the ferry leaves at six")
        cause = stored("<b>fog</b> over the harbour")
        stored("the ferry leaves at seven", supersedes=old, resolved_by=cause)
    tab.go(f"{server.url}/")
    tab.fill("#key", key)
    tab.press("Enter")
    tab.wait("document.querySelectorAll('#recent li').length === 3")
    told = [f"resolved by {cause[:13]}", f"supersedes {old[:13]}"]
    assert texts(tab, "#recent .linked") == told
    tab.fill("#query", "ferry")
    tab.press("Enter")
    tab.wait("document.querySelectorAll('#hits li').length === 1")
    assert texts(tab, "#hits .linked") == [
        *told,
        f"stands for {old[:13]}, which it supersedes",
        "resolved by: <b>fog</b> over the harbour",
    ]


def test_the_page_names_the_path_that_led_to_a_hit(server: Running, tab: Tab) -> None:
    first = "019a0000-0000-7000-8000-000000000001"
    memory = {"id": first, "content": "a", "category": "fact", "tags": [], "links": []}
    tab.go(f"{server.url}/")
    for path, told in (
        ([first, "<b>Ada</b>"], "by 019a0000-0000 → <b>Ada</b>"),
        (["Ada"], "by the query → Ada"),
        ([], None),
    ):
        leg = {"rank": 1 if path else None, "score": 1, "contribution": 1, "path": path}
        hit = {
            "memory": {**memory, "created_at": "2026-01-31T00:00:00Z", "importance": 0.5},
            "score": 1,
            "explanation": {"fused": 1, "bonus": 1, "prior": 1, "legs": {"graph": leg}},
            "stands_for": [],
            "duplicates": [],
            "attached": [],
        }
        tab.run(
            "import('/assets/view.js').then((view) =>"
            f" document.body.replaceChildren(view.hitItem({json.dumps(hit)}, 1, () => {{}})))"
            ".then(() => true)"
        )
        if told is None:
            tab.wait("document.querySelector('.legs td')?.textContent === 'not reached'")
            assert texts(tab, ".why summary") == ["1 prior × 1"]
        else:
            tab.wait(f"document.querySelector('.legs .linked')?.textContent === {json.dumps(told)}")


def test_a_person_uses_the_page_by_keyboard_alone(server: Running, tab: Tab) -> None:
    key = server.new_key()
    hostile = "<img src=x onerror=alert(1)> & <b>staging</b>"
    with server.client(key) as client:
        for number in range(22):
            client.post("memories", json={"content": f"numbered note {number}"})
        client.post("memories", json={"content": hostile, "tags": ["a<b"]})

    tab.go(f"{server.url}/")
    tab.fill("#key", key)
    tab.press("Enter")
    tab.wait("!document.getElementById('signed-in').hidden")
    assert tab.run("document.activeElement.id") == "query"
    assert texts(tab, "#stats") == ["23 memories"]
    assert len(texts(tab, "#recent li")) == 20
    tab.run("document.getElementById('more').focus()")
    tab.press("Enter")
    tab.wait("document.querySelectorAll('#recent li').length === 23")
    assert tab.run("document.getElementById('more').hidden")

    tab.fill("#query", "staging")
    tab.press("Enter")
    tab.wait("document.querySelectorAll('#hits li').length === 1")
    assert texts(tab, "#hits .content") == [hostile]
    assert tab.run("document.querySelectorAll('#hits img, #hits b').length") == 0
    assert texts(tab, "#hits .legs tbody th") == ["lexical"]
    assert "#1 lexical, prior × 0.85" in texts(tab, "#hits summary")[0]
    fused = RecallSettings().vote
    product = f"{fused:g} fused × 0.85 prior (importance 0.5) = {fused * 0.85:.3g}"
    assert texts(tab, "#hits .sum") == [product]
    assert "1 hit in" in texts(tab, "#recall-facts")[0]
    assert "dense absent" in texts(tab, "#recall-facts")[0]

    tab.run("document.getElementById('remember').open = true")
    tab.fill("#content", "the new staging machine")
    tab.fill("#tags", "one, two")
    tab.run("document.querySelector('#remember-form button').focus()")
    tab.press("Enter")
    tab.wait("document.querySelector('#recent .content').textContent === 'the new staging machine'")
    assert texts(tab, "#notice") == ["Remembered: the new staging machine"]

    tab.run("document.querySelector('#hits button').focus()")
    tab.press("Enter")
    tab.wait("document.getElementById('confirm').open")
    tab.press("Enter")  # the button that keeps the memory has the focus
    tab.wait("!document.getElementById('confirm').open")
    assert len(texts(tab, "#hits li")) == 1
    tab.run("document.querySelector('#hits button').click()")
    tab.run("document.querySelector('#confirm [value=forget]').focus()")
    tab.press("Enter")
    tab.wait("document.getElementById('stats').textContent === '23 memories · 1 forgotten'")
    tab.wait("document.querySelector('#hits .content').textContent === 'the new staging machine'")

    assert tab.errors == []


def test_page_rejects_a_wrong_key_and_forgets_it(server: Running, tab: Tab) -> None:
    tab.go(f"{server.url}/")
    tab.fill("#key", "rk_wrong")
    tab.press("Enter")
    tab.wait("!document.getElementById('problem').hidden")
    assert "Unknown key" in texts(tab, "#problem")[0]
    assert tab.run("sessionStorage.length") == 0
    assert tab.run("document.getElementById('signed-in').hidden")


PROBLEM = '{"status": 503, "detail": "the store is gone", "remedy": "Wait."}'


@pytest.mark.parametrize(
    ("body", "said"),
    [("<html>Bad gateway</html>", "(status 503) is not one of"), (PROBLEM, "The store is gone")],
)
def test_a_server_in_trouble_leaves_the_key_and_a_way_to_go_on(
    server: Running, tab: Tab, body: str, said: str
) -> None:
    tab.before_each_page(
        "sessionStorage.setItem('recollect-key', 'rk_kept');"
        f"window.fetch = async () => new Response({json.dumps(body)}, {{ status: 503 }});"
    )
    tab.go(f"{server.url}/")
    tab.wait("!document.getElementById('problem').hidden")
    assert said in texts(tab, "#problem")[0]
    assert not tab.run("document.getElementById('key-form').hidden")
    assert tab.run("sessionStorage.getItem('recollect-key')") == "rk_kept"
    assert tab.errors == []


def test_the_documentation_is_rendered_from_this_server_alone(server: Running, tab: Tab) -> None:
    with server.client() as client:
        paths = client.get("openapi.json").json()["paths"]
    operations = sum(len(methods) for methods in paths.values())
    tab.go(f"{server.url}/api/v1/docs")
    tab.wait(f"document.querySelectorAll('#operations article').length === {operations}")
    assert "/api/v1/recall" in texts(tab, "#operations h3 code")
    assert "MemoryOut" in texts(tab, "#shapes h3")
    assert tab.errors == []
