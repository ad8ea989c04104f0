"""`recollect page`: the local store in a browser, with a key that ends with the process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, expect
from tests.processes import COMMAND
from tests.serving import Running
from tests.shells.web.conftest import Watched
from tests.waiting import SECONDS


def environment(home: Path, variables: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if "RECOLLECT_" not in name}
    own = {"RECOLLECT_HOME": str(home), "RECOLLECT_EMBEDDER": "none"}
    return {**inherited, **own, **variables}


def recollect(home: Path, *arguments: str, sent: str = "", **variables: str) -> str:
    """Run a command on the store of a home and return what it prints."""
    ran = subprocess.run(
        [*COMMAND, *arguments],
        env=environment(home, variables),
        input=sent.encode(),
        check=True,
        capture_output=True,
        timeout=SECONDS,
    )
    return ran.stdout.decode()


@contextmanager
def local_page(home: Path, **variables: str) -> Iterator[str]:
    with subprocess.Popen(
        [*COMMAND, "page", "--json"],
        env=environment(home, variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["page"]
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 0


@pytest.mark.usefixtures("real_processes")
def test_the_link_opens_the_local_store(browser: Browser, tmp_path: Path) -> None:
    recollect(tmp_path, "remember", "the ferry leaves at six")
    watched = Watched()
    with local_page(tmp_path) as link:
        assert urlsplit(link).hostname == "127.0.0.1"
        page = browser.new_page()
        watched.watch(page, urlsplit(link).netloc)
        page.goto(link)
        expect(page.locator(".total").first).to_contain_text("1")
        assert "link" not in page.url
        page.goto(f"http://{urlsplit(link).netloc}/#/memories")
        row = page.locator(".grid-row:visible")
        expect(row).to_contain_text("leaves at six")
        recollect(tmp_path, "remember", "the ferry returns at nine")
        expect(row).to_have_count(2)
        row.first.get_by_role("checkbox").click()
        page.get_by_role("button", name="Forget").click()
        expect(row).to_have_count(1)
        page.get_by_role("button", name="Undo").click()
        expect(row).to_have_count(2)
        for view in ("recall", "graph", "review", "admin", "home"):
            page.goto(f"http://{urlsplit(link).netloc}/#/{view}")
            expect(page.locator(f"rc-{view} .card").first).to_be_visible()
        page.close()
    assert watched.foreign == []
    assert watched.complaints == []


def test_the_page_names_the_command_that_serves_it(browser: Browser, tmp_path: Path) -> None:
    recollect(tmp_path, "remember", "the ferry leaves at six")
    with local_page(tmp_path) as link:
        page = browser.new_page()
        page.goto(link)
        expect(page.locator(".total").first).to_contain_text("1")
        page.goto(f"http://{urlsplit(link).netloc}/#/admin")
        row = page.locator("tr", has_text="page")
        expect(row).to_be_visible()
        expect(row).not_to_contain_text("never")
    expect(page.locator("#away")).to_contain_text("`recollect page` does not answer")
    expect(page.locator("#away")).to_contain_text("open the link that it prints")
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator("main")).to_contain_text("open the link that it prints")
    assert "recollect serve" not in page.locator("body").inner_text()
    page.close()


def test_the_search_goes_by_meaning_when_asked(browser: Browser, home_with_model: Path) -> None:
    minilm = {"RECOLLECT_EMBEDDER": "minilm", "RECOLLECT_TIMEOUT_FACTOR": "60"}
    home = home_with_model
    recollect(home, "settings", "set", "deadline_ms", "60000")
    for category, text in (
        ("procedure", "Deployments go out with make release."),
        ("fact", "Nadia prefers small pull requests."),
    ):
        recollect(home, "remember", text, "--category", category, **minilm)
    recollect(home, "recall", "which are embedded by this?", **minilm)
    with local_page(home, **minilm) as link:
        page = browser.new_page()
        page.goto(link)
        expect(page.locator(".total").first).to_contain_text("2")
        page.goto(f"http://{urlsplit(link).netloc}/#/memories")
        rows = page.locator(".grid-row:visible")
        expect(rows).to_have_count(2)

        page.keyboard.press("/")
        expect(page.get_by_label("Words in the text")).to_be_focused()
        field = page.get_by_label("Words in the text").bounding_box()
        choice = page.get_by_label("Search", exact=True).bounding_box()
        assert field
        assert choice
        assert field["x"] + field["width"] <= choice["x"], "the choice is beside the field"
        page.keyboard.type("how do we ship a new version?")
        expect(page.get_by_role("heading", name="No memory matches")).to_be_visible()
        page.get_by_label("Search", exact=True).select_option("by meaning")
        expect(rows.first).to_contain_text("Deployments go out with make release.")
        expect(page.get_by_text("best match first")).to_be_visible()

        page.reload()
        expect(page.get_by_label("What it is about")).to_have_value("how do we ship a new version?")
        expect(rows.first).to_contain_text("Deployments go out with make release.")
        page.get_by_text("More filters").click()
        expect(page.get_by_label("State")).to_be_disabled()
        page.get_by_label("Category", exact=True).select_option("procedure")
        expect(rows).to_have_count(1)
        page.get_by_role("button", name="Select all").click()
        expect(page.get_by_text("1 memory selected")).to_be_visible()
        page.close()


def key_of(link: str) -> str:
    """Use the link, as the page does."""
    code = urlsplit(link).fragment.removeprefix("link=")
    url = f"http://{urlsplit(link).netloc}/page/key"
    return str(httpx.post(url, content=code, timeout=SECONDS).raise_for_status().json()["key"])


@pytest.mark.slow
def test_a_link_works_once(browser: Browser, tmp_path: Path) -> None:
    recollect(tmp_path, "remember", "the ferry leaves at six")
    with local_page(tmp_path) as link:
        first, second = browser.new_context().new_page(), browser.new_context().new_page()
        first.goto(link)
        expect(first.locator(".total").first).to_contain_text("1")
        second.goto(link)
        expect(second.get_by_role("heading", name="This link was already used")).to_be_visible()
        expect(second.get_by_text("recollect page")).to_be_visible()
        assert second.evaluate("sessionStorage.length") == 0
        first.reload()
        expect(first.locator(".total").first).to_contain_text("1")
        first.goto(f"{link}&again")
        expect(first.locator(".total").first).to_contain_text("1")
        for page in (first, second):
            page.context.close()


def test_a_wrong_code_gets_no_key_and_spoils_no_link(tmp_path: Path) -> None:
    with local_page(tmp_path) as link:
        url = f"http://{urlsplit(link).netloc}/page/key"
        for code in ("", "wrong", "w" * 10_000):
            refused = httpx.post(url, content=code, timeout=SECONDS)
            assert refused.status_code == 410
            assert "recollect page" in refused.json()["remedy"]
        assert key_of(link).startswith("rk_")


@pytest.mark.slow
def test_home_shows_what_hooks_recalled_and_admin_the_backup(
    browser: Browser, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    recollect(home, "remember", "the ferry to Elba leaves at six")
    recollect(home, "backup", str(tmp_path / "backups"), "--verify")
    for prompt in ("when does the ferry to Elba leave?", "what is a monad?"):
        event = json.dumps({"session_id": "s", "prompt": prompt})
        recollect(home, "hook", "recall", sent=event, RECOLLECT_HOOK_BUDGET_MS="60000")
    with local_page(home) as link:
        page = browser.new_page()
        page.goto(link)
        hooks = page.get_by_role("region", name="Recalled by hooks")
        expect(hooks).to_contain_text("2 prompts in the last 7 days, 1 memory added")
        expect(hooks.locator("dd")).to_have_text(["none", "1 memory"])
        assert "ferry" not in hooks.inner_text()
        page.goto(f"http://{urlsplit(link).netloc}/#/admin")
        facts = page.locator("section", has=page.get_by_role("heading", name="Storage and"))
        expect(facts).to_contain_text("verified")
        expect(facts).to_contain_text("MB")
        page.get_by_role("button", name="Run the doctor").click()
        expect(page.locator(".findings", has_text="sqlite")).to_contain_text("FTS5")
        expect(page.get_by_text("recollect bench own")).to_be_visible()
        page.close()


@pytest.mark.slow
def test_home_shows_what_waits_for_sync(browser: Browser, server: Running, tmp_path: Path) -> None:
    home = tmp_path / "laptop"
    away = {"RECOLLECT_API_URL": server.url, "RECOLLECT_API_KEY": server.new_key()}
    recollect(home, "sync", **away)
    away["RECOLLECT_API_URL"] = "http://127.0.0.1:9"
    recollect(home, "remember", "the ferry leaves at six", **away)
    with local_page(home, **away) as link:
        page = browser.new_page()
        page.goto(link)
        expect(page.get_by_text("1 change to send")).to_be_visible()
        page.close()


@pytest.mark.slow
def test_a_key_ends_with_its_process(tmp_path: Path) -> None:
    with local_page(tmp_path) as link:
        key = key_of(link)
    with local_page(tmp_path) as again:
        url = f"http://{urlsplit(again).netloc}/api/v1/stats"
        headers = {"Authorization": f"Bearer {key}"}
        assert httpx.get(url, headers=headers, timeout=SECONDS).status_code == 401
        assert httpx.get(url, timeout=SECONDS).status_code == 401
        headers = {"Authorization": f"Bearer {key_of(again)}"}
        assert httpx.get(url, headers=headers, timeout=SECONDS).status_code == 200
