"""`make screenshots`: every view of the page, light and dark, from the demo's memories.

`make page-figures` (`--measure`): size and time of the first view, and the times between frames
while dragging a graph of 60 concepts and while scrolling 100,000 rows.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import httpx
from playwright.sync_api import Browser, Page, Response, Route, ViewportSize, sync_playwright

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "examples"))

from demo import MEMORIES, running_server  # type: ignore[import-not-found]  # noqa: E402

OUT = ROOT / "docs" / "screenshots"
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
SIZE: ViewportSize = {"width": 1200, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}
READY_SECONDS = 240
HOME = "/var/lib/recollect"
"""What the pictures show instead of the temporary folder."""
ROWS = 100_000
QUERY = "when is the staging database read-only?"
VIEWS = {
    "home": ("#/home", ".weeks"),
    "memories": ("#/memories", ".grid-row:not([hidden])"),
    "recall": (f"#/recall?query={quote(QUERY)}", ".hit"),
    "graph": ("#/graph?name=Postgres", ".canvas circle"),
    "review": ("#/review", "rc-review *"),
    "admin": ("#/admin", "rc-admin table"),
}
PROJECTS = ("shop", "website", "infrastructure")
FACTS = (
    "Ada works at Northwind. Northwind uses Postgres.",
    "Nadia works at Northwind and reviews the Checkout Service.",
    "The Checkout Service depends on Postgres and Redis.",
    "Tomás maintains the Payment Gateway. The Payment Gateway depends on Redis.",
    "Postgres is hosted in Frankfurt. Redis is hosted in Dublin.",
    "Ada maintains the Billing Service. The Billing Service uses Postgres.",
)
# The curator proposes that the second supersedes the first.
UPDATE = ("The staging API runs on port 8000.", "The staging API moved to port 9000.")
# Each has neighbours of its own, so there are more than the 60 concepts that the graph shows at
# once.
SERVICES = [
    f"{color} {animal}"
    for color in ("Amber", "Black", "Blue", "Green", "Grey", "Red", "White", "Yellow")
    for animal in ("Badger", "Crane", "Dolphin", "Falcon", "Heron", "Lynx", "Otter", "Wolf")
]
NEIGHBOURS = ("Cache", "Gateway", "Queue", "Store")
FRAMES = """
(act) => new Promise((done) => {
  const times = [];
  let last = performance.now();
  let step = 0;
  const next = (now) => {
    times.push(now - last);
    last = now;
    if (step >= 180) return done(times.slice(5));
    act(step++);
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
})
"""


ROW = "{:34} {:>10} {:>10} {:>10}"
# Marks when the first view is complete, by the browser's own clock.
SHOWN = """
new MutationObserver((_, watching) => {
  if (!document.querySelector(".weeks")) return;
  watching.disconnect();
  requestAnimationFrame(() => performance.mark("recollect-shown"));
}).observe(document, { childList: true, subtree: true });
"""


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("Chromium is not installed: run `apt-get install chromium`")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        if "--measure" in sys.argv:
            measure(browser)
        else:
            take_all(browser)
        browser.close()


def take_all(browser: Browser) -> None:
    with tempfile.TemporaryDirectory(prefix="recollect-page-") as folder:
        home = Path(folder)
        home.chmod(0o711)  # as root, Postgres runs as another account
        with (
            running_server(home, RECOLLECT_CURATION="propose") as server,
            connect(server.url, server.key) as client,
        ):
            fill(client)
            wait_for_proposal(client)
            add_conflict(client)
            client.post("recall", json={"query": QUERY}).raise_for_status()  # loads the model
            take(browser, server.url, server.key, home)


def connect(url: str, key: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.Client(base_url=f"{url}/api/v1/", headers=headers, timeout=120)


def fill(client: httpx.Client) -> None:
    """Store the demo's memories in some projects, and facts about people and services."""
    for number, draft in enumerate(MEMORIES):
        sent = {
            "content": draft.content,
            "category": draft.category,
            "tags": [*draft.tags],
            "expanded_keywords": [*draft.expanded_keywords],
            "importance": draft.importance,
            "project": PROJECTS[number % len(PROJECTS)],
        }
        client.post("memories", json=sent).raise_for_status()
    for fact in (*FACTS, *UPDATE):
        client.post("memories", json={"content": fact, "project": "shop"}).raise_for_status()
    secret = {"content": "The door code of the server room is 4711.", "is_sensitive": True}
    client.post("memories", json=secret).raise_for_status()
    passing = {
        "content": "The office is closed while the kitchen is painted.",
        "valid_until": (datetime.now(UTC) + timedelta(days=5)).isoformat(),
    }
    client.post("memories", json=passing).raise_for_status()
    client.patch("settings", json={"dense_weight": 0.7}).raise_for_status()
    client.patch("settings", json={"dense_weight": 0.65}).raise_for_status()
    wait_for_worker(client)


def wait_for_worker(client: httpx.Client) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        stats = client.get("stats").raise_for_status().json()
        parts = [part for part in (stats["embedding"], stats["graph"]) if part]
        has_read = stats["graph"] and stats["graph"]["extracted"] >= len(MEMORIES)
        if has_read and not any(part["waiting"] for part in parts):
            return
        time.sleep(0.5)


def wait_for_proposal(client: httpx.Client) -> None:
    until = time.monotonic() + READY_SECONDS
    while not client.get("proposals").raise_for_status().json()["proposals"]:
        if time.monotonic() > until:
            sys.exit("The curator proposed nothing for the pictures: see UPDATE")
        time.sleep(0.5)


def add_conflict(client: httpx.Client) -> None:
    """Add a conflict, as if a laptop had changed a memory while it was offline."""
    found = client.get("table", params={"words": "on-call"}).raise_for_status().json()
    now = datetime.now(UTC).isoformat()
    revision = {
        "id": "019cc2a7-4b5a-7d3a-9a55-2f0e6b7c8d9f",
        "memory_id": found["memories"][0]["id"],
        "kind": "edit",
        "fields": {"content": "The on-call phone is handed over on Tuesday at nine."},
        "made_at": now,
    }
    store = "019cc2a7-4b59-7d3a-9a55-2f0e6b7c8d9e"
    pushed = {"protocol": 1, "store": store, "memories": [], "revisions": [revision]}
    client.post("sync/push", json=pushed).raise_for_status()


def open_page(
    browser: Browser, url: str, key: str, size: ViewportSize = SIZE, scheme: Scheme = "light"
) -> Page:
    context = browser.new_context(viewport=size, color_scheme=scheme)
    context.add_init_script(f"sessionStorage.setItem('recollect-key', '{key}')")
    page = context.new_page()
    page.goto(f"{url}/")
    return page


def take(browser: Browser, url: str, key: str, home: Path) -> None:
    def answer_status(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace(str(home), HOME))

    OUT.mkdir(exist_ok=True)
    for scheme in SCHEMES:
        page = open_page(browser, url, key, scheme=scheme)
        page.route("**/api/v1/status", answer_status)
        # A headless browser shows no scrollbar, but reserves space for it.
        page.evaluate("document.documentElement.style.scrollbarGutter = 'auto'")
        for name, (address, awaited) in VIEWS.items():
            page.goto(f"{url}/{address}")
            page.locator(awaited).first.wait_for()
            settle(page)
            page.screenshot(path=OUT / f"{name}-{scheme}.png")
        page.context.close()
    page = open_page(browser, url, key, PHONE)
    page.goto(f"{url}/#/home")
    page.locator(".weeks").wait_for()
    page.screenshot(path=OUT / "phone.png")


def settle(page: Page) -> None:
    """Wait until nothing moves: the graph's layout settles over some frames."""
    page.evaluate("new Promise((done) => setTimeout(done, 1500))")


def measure(browser: Browser) -> None:
    """Measure on local stores: one with the demo's memories, and one with 100,000."""
    with local_page() as (url, key), connect(url, key) as client:
        fill(client)
        size, first = first_view(browser, url, key)
        print(f"load average {os.getloadavg()[0]:.1f}")
        print(f"first view: {size / 1000:.1f} kB, {first:.0f} ms (median of 5)")
        print(ROW.format("times between frames, ms", "median", "95% below", "longest"))
        for name in SERVICES:
            facts = [f"The {name} Service uses Postgres."]
            facts += [f"The {name} Service depends on the {name} {near}." for near in NEIGHBOURS]
            for fact in facts:
                client.post("memories", json={"content": fact}).raise_for_status()
        wait_for_worker(client)
        page = open_page(browser, url, key)
        page.goto(f"{url}/#/graph?name=Postgres")
        page.locator(".canvas circle").first.wait_for()
        settle(page)
        concepts = page.locator(".canvas circle").count()
        print_frames(f"dragging a graph of {concepts} concepts", drag(page))
        page.context.close()
    with local_page(RECOLLECT_GRAPH="off") as (url, key), connect(url, key) as client:
        for start in range(0, ROWS, 500):
            contents = [f"Note {number} about something" for number in range(start, start + 500)]
            batch = {"memories": [{"content": content} for content in contents]}
            client.post("/memories:batch", json=batch).raise_for_status()
        page = open_page(browser, url, key)
        page.goto(f"{url}/#/memories")
        page.locator(".grid-row:not([hidden])").first.wait_for()
        settle(page)
        scroll = (
            "(step) => { const body = document.querySelector('.grid-body');"
            " body.scrollTop = step < 90 ? step * 120 : step * 24000; }"
        )
        times = page.evaluate(f"({FRAMES})({scroll})")
        print_frames(f"scrolling {ROWS:,} rows", times)
        page.context.close()


@contextmanager
def local_page(**variables: str) -> Iterator[tuple[str, str]]:
    """Run `recollect page` on an empty store that recalls by words; yield its address and key."""
    inherited = {name: value for name, value in os.environ.items() if "RECOLLECT_" not in name}
    with tempfile.TemporaryDirectory(prefix="recollect-page-") as home:
        own = {"RECOLLECT_HOME": home, "RECOLLECT_EMBEDDER": "none", **variables}
        process = subprocess.Popen(
            [sys.executable, "-m", "recollect.main", "page", "--json"],
            env={**inherited, **own},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout is not None
        try:
            url, _, code = json.loads(process.stdout.readline())["page"].partition("/#link=")
            answer = httpx.post(f"{url}/page/key", content=code).raise_for_status()
            yield url, answer.json()["key"]
        finally:
            process.terminate()
            process.wait(60)


def first_view(browser: Browser, url: str, key: str) -> tuple[int, float]:
    """Return the first view's size with its data, in bytes uncompressed, and its time in ms."""
    context = browser.new_context(viewport=SIZE)
    context.add_init_script(f"sessionStorage.setItem('recollect-key', '{key}')")
    context.add_init_script(SHOWN)
    sizes: list[int] = []
    milliseconds = []
    for _ in range(5):
        page = context.new_page()
        answers: list[Response] = []

        def note(answer: Response, seen: list[Response] = answers) -> None:
            seen.append(answer)

        page.on("response", note)
        page.goto(f"{url}/#/home")
        page.locator(".weeks").wait_for()
        milliseconds.append(
            page.evaluate("performance.getEntriesByName('recollect-shown')[0].startTime")
        )
        sizes.append(sum(len(each.body()) for each in answers if "/events" not in each.url))
        page.close()
    return sizes[0], sorted(milliseconds)[2]


def drag(page: Page) -> list[float]:
    """Move one node with every frame; return the times between frames."""
    act = """
    (() => {
      const dot = document.querySelector('.canvas g[role=button]');
      const svg = document.querySelector('.canvas');
      const box = dot.getBoundingClientRect();
      const send = (kind, x, y) => (kind === 'pointerdown' ? dot : svg).dispatchEvent(
        new PointerEvent(kind, { bubbles: true, pointerId: 1, clientX: x, clientY: y }));
      svg.setPointerCapture = () => {};
      send('pointerdown', box.x, box.y);
      return (step) => send(
        'pointermove', box.x + 80 * Math.sin(step / 9), box.y + 60 * Math.cos(step / 9));
    })()
    """
    times: list[float] = page.evaluate(f"({FRAMES})({act})")
    return times


def print_frames(what: str, times: list[float]) -> None:
    ordered = sorted(times)
    shown = (ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)], ordered[-1])
    print(ROW.format(what, *(f"{each:.1f}" for each in shown)))


if __name__ == "__main__":
    main()
