"""A real browser, driven by Playwright: Debian's Chromium, nothing downloaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from tests.conftest import Cluster
from tests.real_parts import CHROMIUM
from tests.serving import Running, serve_tests
from tests.waiting import SECONDS

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}

expect.set_options(timeout=SECONDS * 1000)

OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def server(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Running]:
    yield from serve_tests(cluster, tmp_path_factory, request.module.__name__)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Run until the end of a file: Playwright's event loop must not meet that of other tests."""
    path = CHROMIUM.path()
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        launched.close()


class Watched:
    """Records what pages must not do: contact other hosts, or log errors to the console."""

    def __init__(self) -> None:
        self.foreign: list[str] = []
        self.complaints: list[str] = []
        # A refused request is also logged to the console.
        self.allowed: tuple[str, ...] = ()

    def watch(self, page: Page, host: str) -> None:
        page.on("request", lambda request: self._ask(request.url, host))
        page.on("console", lambda message: self._say(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _ask(self, url: str, host: str) -> None:
        if urlsplit(url).scheme in ("http", "https") and urlsplit(url).netloc != host:
            self.foreign.append(url)

    def _say(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not any(part in text for part in self.allowed):
            self.complaints.append(text)


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def open_page(server: Running, browser: Browser, watched: Watched) -> Iterator[OpenPage]:
    """Open an address of the page, signed in with a key unless it is None."""
    contexts: list[BrowserContext] = []

    def opened(key: str | None, address: str = "", **options: Any) -> Page:
        context = browser.new_context(**{"viewport": DESKTOP, **options})
        context.set_default_timeout(SECONDS * 1000)
        contexts.append(context)
        if key is not None:
            context.add_init_script(f"sessionStorage.setItem('recollect-key', '{key}')")
        page = context.new_page()
        watched.watch(page, urlsplit(server.url).netloc)
        page.goto(f"{server.url}/{address}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert watched.foreign == []
    assert watched.complaints == []
