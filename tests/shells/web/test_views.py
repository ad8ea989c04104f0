"""Home, recall, graph, review and admin, as a person uses them."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from playwright.sync_api import Page, expect
from tests.effort import sample
from tests.serving import Running
from tests.shells.web.conftest import PHONE, OpenPage, Watched
from tests.shells.web.test_memories import store
from tests.strategies import new_id
from tests.waiting import wait_until

from recollect.core.sync.model import Revision
from recollect.settings import load
from recollect.usecases.workers.steps import CurationStep, GraphStep
from recollect.usecases.workers.worker import Worker
from recollect.wiring.context import build_curation

VIEWS = ("home", "memories", "recall?query=boat", "graph", "review", "admin")
# The lowest contrast of all texts with their background, by the formula of WCAG 2.
CONTRASTS = """
() => {
  const luminance = (color) => {
    const part = (value) => (value <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4);
    return color.slice(0, 3).map((value) => part(value / 255))
      .reduce((sum, value, at) => sum + value * [.2126, .7152, .0722][at], 0);
  };
  const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const low = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const node = text.parentElement;
    if (!text.data.trim() || !node.checkVisibility()) continue;
    if (node.closest("svg, option, noscript")) continue;
    const [one, other] = [luminance(parse(getComputedStyle(node).color)), luminance(ground(node))];
    const contrast = (Math.max(one, other) + .05) / (Math.min(one, other) + .05);
    if (contrast < 4.5) low.push(`${contrast.toFixed(2)} ${text.data.slice(0, 40)}`);
  }
  return low;
}
"""
UNNAMED = """
() => [...document.querySelectorAll("button, a, input, select, textarea")]
  .filter((node) => node.checkVisibility())
  .filter((node) => !(node.ariaLabel || node.textContent.trim() || node.labels?.length))
  .map((node) => node.tagName + node.className)
"""


def fill(server: Running, key: str) -> list[str]:
    with server.client(key) as client:
        return [
            store(client, "The red boat leaves the harbour at six.", project="sea", importance=0.9),
            store(client, "The blue boat stays in the harbour.", tags=["boats"]),
            store(client, "The vault code is 4711, near the boat.", is_sensitive=True),
        ]


def read_graph(server: Running, key: str) -> None:
    """Read what is stored; if the server's own worker is already reading, wait for it."""
    worker = Worker(GraphStep(server.server.graph))
    asyncio.run_coroutine_threadsafe(worker.work_off(), server.loop).result()
    with server.client(key) as client:
        wait_until(lambda: client.get("stats").json()["graph"]["waiting"] == 0)


def test_home_shows_totals_growth_and_what_waits(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    fill(server, key)
    page = open_page(key, "#/home")
    expect(page.locator(".total")).to_contain_text(["3", "1", "1", "0", ""])
    expect(page.get_by_role("img", name="this week")).to_be_visible()
    expect(page.get_by_role("heading", name="Needs attention")).to_be_visible()
    page.get_by_role("link", name="sensitive").click()
    expect(page.locator(".grid-row:visible")).to_have_count(1)


def test_home_leads_to_memories_that_expire_soon(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    fill(server, key)
    now = datetime.now(UTC)
    with server.client(key) as client:
        for days in (6, 8, 20):
            end = (now + timedelta(days=days)).isoformat()
            store(client, f"The pass is valid for {days} days.", valid_until=end)
    page = open_page(key, "#/home")
    page.get_by_role("link", name="1 memory will expire within 7 days").click()
    rows = page.locator(".grid-row:visible")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("valid for 6 days")
    expect(rows.locator(".chip")).to_contain_text("expires")
    page.get_by_label("Expires").select_option("within 30 days")
    expect(rows).to_have_count(3)
    page.reload()
    expect(rows).to_have_count(3)


def test_recall_explains_its_hits_in_plain_words(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    fill(server, key)
    page = open_page(key, "#/recall")
    page.get_by_label("Query").fill("red boat in the harbour")
    page.keyboard.press("Enter")
    first = page.locator(".hit").first
    expect(first).to_contain_text("The red boat leaves")
    expect(first).to_contain_text("words: matched 3 of 3 words")
    expect(first.get_by_role("img", name="Score")).to_be_visible()
    expect(page.locator(".hits")).to_contain_text("Sensitive text")
    assert "4711" not in page.content()
    preview = page.get_by_role("region", name="What a hook would inject")
    expect(preview).to_contain_text("token")
    page.reload()
    expect(page.locator(".hit").first).to_contain_text("The red boat leaves")


def test_why_not_says_what_kept_a_memory_out(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    ids = fill(server, key)
    page = open_page(key, f"#/recall?query=red+boat&project=sea&why={ids[1]}")
    card = page.get_by_role("region", name="Not recalled")
    expect(card).to_contain_text("The blue boat stays")
    expect(card.locator(".findings")).not_to_be_empty()
    page.get_by_role("button", name="Why here?").first.click()
    expect(page.get_by_role("region", name="Recalled as #1")).to_be_visible()


def test_the_page_says_why_an_update_is_shown_first(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        old = store(client, "The car park API runs on port 8000.")
        store(client, "The API moved to port 9000, says the car park.")
    page = open_page(key, f"#/recall?query=car+park+API+runs+on+port&why={old}")
    expect(page.locator(".hit").first).to_contain_text("8000 became 9000")
    card = page.get_by_role("region", name="Recalled as #2")
    expect(card).to_contain_text("which updates it, is shown first: 8000 became 9000.")


def test_no_view_uses_words_of_the_engine(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    ids = fill(server, key)
    page = open_page(key)
    for view in (*VIEWS, f"recall?query=red+boat&project=sea&why={ids[1]}", f"memory/{ids[0]}"):
        page.goto(f"{server.url}/#/{view}")
        name = view.partition("?")[0].partition("/")[0]
        expect(page.locator(f"rc-{name} :is(.card, .grid)").first).to_be_visible()
        shown = page.locator("main").inner_text()
        for jargon in ("standout", "evidence", r"legs?\b", "fused", "lexical leg", "parked"):
            assert not re.search(rf"\b{jargon}", shown), (view, jargon)


def test_recall_is_limited_to_a_session_and_a_time(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        store(client, "the red boat", session="monday")
        store(client, "the blue boat", session="tuesday")
    page = open_page(key, "#/recall?query=boat")
    hits = page.locator(".hit")
    expect(hits).to_have_count(2)
    page.get_by_text("Scope, time and weights").click()
    page.get_by_label("Session").fill("monday")
    page.keyboard.press("Enter")
    expect(hits).to_have_count(1)
    expect(hits).to_contain_text("red")
    page.reload()
    expect(page.get_by_label("Session")).to_have_value("monday")
    page.get_by_label("Stored before").fill("2020-01-01")
    page.get_by_role("button", name="Recall", exact=True).click()
    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
    page.get_by_label("Stored before").fill("")
    page.get_by_label("Stored from").fill("2020-01-01")
    page.get_by_role("button", name="Recall", exact=True).click()
    expect(hits).to_have_count(1)


def test_recall_offers_to_ask_again_when_memories_changed(
    server: Running, open_page: OpenPage
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        store(client, "the red boat")
        page = open_page(key, "#/recall?query=boat")
        expect(page.locator(".hit")).to_have_count(1)
        page.get_by_label("Query").fill("half a query")
        top = page.locator(".hit").first.bounding_box()
        store(client, "the blue boat")
        again = page.get_by_role("button", name="Recall again")
        expect(again).to_be_visible()
        assert page.locator(".hit").first.bounding_box() == top
        expect(page.get_by_label("Query")).to_be_focused()
        again.click()
        expect(page.locator(".hit")).to_have_count(2)
        expect(page.get_by_label("Query")).to_have_value("half a query")
        expect(again).to_be_hidden()


def test_the_preview_says_where_a_hook_looks(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    fill(server, key)
    page = open_page(key, "#/recall?query=red+boat+in+the+harbour")
    preview = page.get_by_role("region", name="What a hook would inject")
    expect(preview).to_contain_text("No project is chosen above")
    expect(preview.locator("pre", has_text="red boat")).to_have_count(0)
    page.goto(f"{server.url}/#/recall?query=red+boat+in+the+harbour&project=sea")
    expect(preview).to_contain_text("looks at the project sea and at memories without a project")
    expect(preview.locator("pre")).to_contain_text("red boat")


def test_two_settings_are_compared_side_by_side(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    fill(server, key)
    page = open_page(key, "#/recall?query=boat")
    page.get_by_text("Scope, time and weights").click()
    page.get_by_role("button", name="Compare with other weights").click()
    expect(page.get_by_role("region", name="Weights B").locator(".hit")).to_have_count(3)
    page.get_by_role("slider", name="Weight of words B").fill("2")
    expect(page).to_have_url(re.compile("v=2"))
    expect(page.get_by_role("region", name="Weights A").locator(".hit")).to_have_count(3)
    page.get_by_role("button", name="Stop comparing").click()
    expect(page.get_by_role("region", name="Recalled").locator(".hit")).to_have_count(3)


def test_the_graph_shows_merges_and_splits_concepts(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        for text in (
            "Ada works at Northwind. Northwind uses Postgres.",
            "Nadia works at Northwind. Nadia uses Redis.",
            "Northwind Ltd uses Redis.",
        ):
            store(client, text)
    read_graph(server, key)
    page = open_page(key, "#/graph?name=Northwind")
    concept = page.get_by_role("button", name="Ada", exact=True)
    expect(concept).to_be_visible()
    page.get_by_role("button", name="Ada works at Northwind").click()
    behind = page.get_by_role("region", name="Memories behind this")
    expect(behind).to_contain_text("Northwind uses Postgres")
    concept.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Ada")).to_be_visible()
    page.get_by_label("Path to").fill("Redis")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="Path")).to_be_visible()
    page.goto(f"{server.url}/#/graph?name=Northwind")
    expect(page.get_by_role("heading", name="Northwind", exact=True)).to_be_visible()
    page.get_by_text("Merge and split").click()
    page.get_by_label("Concept to merge").fill("Redis")
    page.get_by_role("button", name="Merge", exact=True).click()
    expect(page.get_by_text("now means")).to_be_visible()
    page.get_by_role("button", name="Split off").first.click()
    expect(page.get_by_text("is a concept of its own now")).to_be_visible()


def test_a_concept_is_dragged(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        store(client, "Ada works at Northwind. Northwind uses Postgres.")
    read_graph(server, key)
    page = open_page(key, "#/graph?name=Northwind")
    circle = page.get_by_role("button", name="Ada", exact=True).locator("circle")
    before = circle.bounding_box()
    assert before is not None
    page.mouse.move(before["x"] + 5, before["y"] + 5)
    page.mouse.down()
    page.mouse.move(before["x"] + 150, before["y"] + 5, steps=5)
    after = circle.bounding_box()
    page.mouse.up()
    assert after is not None
    assert abs(after["x"] - before["x"]) > 80
    expect(page.get_by_role("heading", name="Northwind", exact=True)).to_be_visible()


def test_the_graph_is_shown_as_of_an_earlier_time_and_zoomed(
    server: Running, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed = ("404",)
    key = server.new_key()
    with server.client(key) as client:
        store(client, "Ada works at Northwind. Northwind uses Postgres.")
    read_graph(server, key)
    page = open_page(key, "#/graph?name=Northwind")
    relationship = page.get_by_role("button", name="Ada works at Northwind")
    expect(relationship).to_be_visible()
    circle = page.get_by_role("button", name="Northwind", exact=True).locator("circle")
    before = circle.bounding_box()
    page.get_by_role("button", name="Zoom in").click()
    after = circle.bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"]
    page.get_by_role("button", name="Ada", exact=True).focus()
    page.keyboard.press("-")
    page.keyboard.press("-")
    zoomed = circle.bounding_box()
    assert zoomed is not None
    assert zoomed["width"] < before["width"]
    weeks = page.get_by_role("slider", name="As of, in weeks from now")
    weeks.fill("-4")
    expect(relationship).to_be_hidden()
    expect(page.get_by_text("As of now")).to_be_hidden()
    expect(page).to_have_url(re.compile(r"as_of=\d{4}-\d\d-\d\d"))
    page.reload()
    expect(weeks).to_have_value("-4")
    expect(page.get_by_text("in 0 memories")).to_be_visible()
    expect(relationship).to_be_hidden()
    weeks.fill("0")
    expect(relationship).to_be_visible()


def test_concepts_mentioned_together_are_reached_with_the_keyboard(
    server: Running, open_page: OpenPage
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        store(client, "Ada met Northwind in Lisbon.")
        store(client, "Ada likes tea.")
    read_graph(server, key)
    page = open_page(key, "#/graph?name=Ada")
    together = page.get_by_role("button", name="Ada and Northwind")
    together.focus()
    page.keyboard.press("Enter")
    behind = page.get_by_role("region", name="Memories behind this")
    expect(behind).to_contain_text("mentioned together in 1 memory")
    expect(behind.get_by_role("link")).to_have_text(["Ada met Northwind in Lisbon."])


def test_the_graph_offers_to_draw_again_and_keeps_what_is_typed(
    server: Running, open_page: OpenPage
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        store(client, "Ada works at Northwind.")
        read_graph(server, key)
        page = open_page(key, "#/graph?name=Ada")
        expect(page.get_by_role("button", name="Northwind", exact=True)).to_be_visible()
        page.get_by_label("Concept", exact=True).fill("half a name")
        store(client, "Ada uses Redis.")
        read_graph(server, key)
        page.get_by_role("button", name="Draw again").click()
        expect(page.get_by_role("button", name="Redis", exact=True)).to_be_visible()
        expect(page.get_by_label("Concept", exact=True)).to_have_value("half a name")


def test_a_hit_shows_its_path_through_the_graph(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        store(client, "Ada works at Northwind.")
        store(client, "Northwind uses Postgres.")
        assert client.patch("settings", json={"deadline_ms": 60_000}).is_success
    read_graph(server, key)
    with server.client(key) as client:
        # The first recall of an owner loads the graph, and on a busy machine goes without it.
        question = {"query": "Where does Ada work?"}
        wait_until(
            lambda: client.post("recall", json=question).json()["legs"]["graph"]["status"] == "ran"
        )
    page = open_page(key, "#/recall?query=Where+does+Ada+work%3F")
    hit = page.locator(".hit", has_text="uses Postgres")
    expect(hit).to_contain_text("connections: reached through the graph")
    expect(hit).to_contain_text("Path: ")
    expect(hit.locator("p", has_text="Path: ")).to_contain_text("Northwind")


def test_an_unknown_concept_and_an_empty_graph_say_what_to_do(
    server: Running, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed = ("404",)
    page = open_page(server.new_key(), "#/graph?name=nobody")
    expect(page.get_by_role("heading", name="There is no concept")).to_be_visible()
    page.goto(f"{server.url}/#/graph")
    expect(page.get_by_role("heading", name="No concepts yet")).to_be_visible()


def keep_conflict(server: Running, owner: str, memory: str, content: str) -> None:
    revision = Revision(
        id=new_id(),
        memory_id=UUID(memory),
        kind="edit",
        fields={"content": content},
        made_at=datetime.now(UTC),
    )
    changes = server.server.changes
    assert changes is not None
    keeping = changes.keep_revisions(owner, [revision])
    asyncio.run_coroutine_threadsafe(keeping, server.loop).result()


def test_conflicts_are_decided_with_the_keyboard(server: Running, open_page: OpenPage) -> None:
    owner = "reviewer"
    key = server.new_key(owner)
    with server.client(key) as client:
        ids = [store(client, f"the ferry {number} leaves at six") for number in range(3)]
        for number, id in enumerate(ids):
            keep_conflict(server, owner, id, f"the ferry {number} leaves at nine")
        page = open_page(key, "#/review")
        cards = page.locator(".pairs > li")
        expect(cards).to_have_count(3)
        expect(cards.first.locator("del")).to_have_text("six")
        expect(cards.first.locator("ins")).to_have_text("nine")
        expect(cards.first).to_be_focused()
        page.keyboard.press("a")
        expect(cards).to_have_count(2)
        page.keyboard.press("l")
        page.keyboard.press("r")
        expect(cards).to_have_count(1)
        page.keyboard.press("r")
        expect(page.get_by_role("heading", name="Nothing to review")).to_be_visible()
        texts = [client.get(f"memories/{id}").json()["content"] for id in ids]
    assert sorted(text.rpartition(" ")[2] for text in texts) == ["nine", "six", "six"]


def propose(server: Running, client: httpx.Client, *names: str) -> list[dict[str, Any]]:
    """Proposals about a pair of memories for each name, as the curator makes them."""
    for name in names:
        store(client, f"The {name} leaves from berth 8.")
        store(client, f"The {name} moved to berth 9.")
    curation = build_curation(server.server.context, load(curation="propose"))
    assert curation is not None
    working = Worker(CurationStep(curation)).work_off()
    asyncio.run_coroutine_threadsafe(working, server.loop).result()
    return proposals(client)


def proposals(client: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("proposals").json()["proposals"]
    return found


def test_proposals_are_accepted_and_rejected_in_the_review(
    server: Running, open_page: OpenPage
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        proposed = len(propose(server, client, "ferry", "train"))
        assert proposed >= 2
        page = open_page(key, "#/home")
        page.get_by_role("link", name=f"{proposed} proposals to review").click()
        expect(page.locator("rc-review")).to_be_visible()
        cards = page.locator(".pairs > li")
        expect(cards).to_have_count(proposed)
        expect(cards.first.get_by_role("heading")).to_contain_text("Outdated")
        expect(cards.first.locator("ins")).to_contain_text(["moved", "9."])
        page.keyboard.press("a")
        expect(page.get_by_text("Kept the newer memory.")).to_be_visible()
        expect(cards).to_have_count(proposed - 1)
        page.keyboard.press("r")
        expect(page.get_by_text("Kept both memories.")).to_be_visible()
        expect(cards).to_have_count(proposed - 2)
        (entry,) = client.get("journal").json()["entries"]
        links = client.get(f"memories/{entry['survivor']}").json()["links"]
    assert links == [{"kind": "supersedes", "target": entry["superseded"]}]


def test_a_proposal_says_who_made_it_how_sure_and_leads_to_both_memories(
    server: Running, open_page: OpenPage
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        (found,) = propose(server, client, "ferry")
    page = open_page(key, "#/review")
    card = page.locator(".pairs > li")
    expect(card).to_contain_text(f"{round(found['confidence'] * 100)}% sure, found by rules")
    for title in ("Older", "Newer"):
        link = card.get_by_role("link", name=title)
        expect(link).to_have_attribute("href", f"#/memory/{found[title.lower()]}")


def test_a_live_update_moves_neither_the_selection_nor_the_focus(
    server: Running, open_page: OpenPage
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        first, second, third = propose(server, client, "ferry", "train", "tram")
        page = open_page(key, "#/review")
        cards = page.locator(".pairs > li")
        expect(cards).to_have_count(3)
        expect(cards.first).to_be_focused()
        page.keyboard.press("j")
        expect(cards.nth(1)).to_be_focused()
        # The first proposal becomes void.
        client.patch(f"memories/{first['newer']}", json={"content": "Lunch is at noon."})
        expect(cards).to_have_count(2)
        expect(cards.first).to_be_focused()
        page.keyboard.press("o")
        expect(page.get_by_text("Kept the older memory.")).to_be_visible()
        (entry,) = client.get("journal").json()["entries"]
        assert (entry["proposal"], entry["survivor"]) == (second["id"], second["older"])
        assert [each["id"] for each in proposals(client)] == [third["id"]]


def test_a_live_update_leaves_the_focus_outside_the_list(
    server: Running, open_page: OpenPage
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        first, *_ = propose(server, client, "ferry", "train")
        page = open_page(key, "#/review")
        cards = page.locator(".pairs > li")
        expect(cards).to_have_count(2)
        link = page.get_by_role("link", name="API")
        link.focus()
        client.patch(f"memories/{first['newer']}", json={"content": "Lunch is at noon."})
        expect(cards).to_have_count(1)
        expect(link).to_be_focused()


def test_no_key_decides_about_another_pair_when_the_selected_one_is_gone(
    server: Running, open_page: OpenPage
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        first, second = propose(server, client, "ferry", "train")
        page = open_page(key, "#/review")
        cards = page.locator(".pairs > li")
        expect(cards.first).to_be_focused()
        client.patch(f"memories/{first['newer']}", json={"content": "Lunch is at noon."})
        expect(cards).to_have_count(1)
        expect(page.get_by_text("The selected pair is gone")).to_be_visible()
        for pressed in "aorl":
            page.keyboard.press(pressed)
        page.keyboard.press("j")
        expect(cards.first).to_be_focused()
        assert [(each["id"], each["state"]) for each in proposals(client)] == [
            (second["id"], "open")
        ]


@pytest.mark.parametrize("pressed", sample(["a", "o", "r"]))
def test_a_decision_is_undone_and_the_proposal_is_back(
    server: Running, open_page: OpenPage, pressed: str
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        (found,) = propose(server, client, "ferry")
        page = open_page(key, "#/review")
        expect(page.locator(".pairs > li")).to_be_focused()
        page.keyboard.press(pressed)
        expect(page.get_by_role("heading", name="Nothing to review")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".pairs > li")).to_have_count(1)
        assert [each["id"] for each in proposals(client)] == [found["id"]]
        assert client.get("journal").json()["entries"] == []
        assert client.get(f"memories/{found['newer']}").json()["links"] == []


def test_later_is_remembered_by_the_server(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        first, second = propose(server, client, "ferry", "train")
        page = open_page(key, "#/review")
        cards = page.locator(".pairs > li")
        expect(cards.first).to_be_focused()
        page.keyboard.press("l")
        expect(cards.last).to_contain_text("later")
        expect(cards.first).to_be_focused()
        expect(cards.first).to_contain_text("train")
        states = {each["id"]: each["state"] for each in proposals(client)}
        assert states == {first["id"]: "later", second["id"]: "open"}
        page.reload()
        expect(cards.last).to_contain_text("ferry")


def test_all_of_a_kind_are_accepted_and_undone_at_once(
    server: Running, open_page: OpenPage
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        found = propose(server, client, "ferry", "train", "tram")
        page = open_page(key, "#/review")
        page.get_by_role("button", name="Keep the newer of all 3 outdated").click()
        expect(page.get_by_text("Kept the newer memory of 3 pairs.")).to_be_visible()
        assert len(client.get("journal").json()["entries"]) == 3
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".pairs > li")).to_have_count(3)
        assert {each["id"] for each in proposals(client)} == {each["id"] for each in found}


def test_a_member_sees_why_keys_are_hidden(
    server: Running, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed = ("403",)
    page = open_page(server.new_key(role="member"), "#/admin")
    expect(page.get_by_text("needs a key with the role admin")).to_be_visible()
    expect(page.get_by_label("Weight of words")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", sample(VIEWS, 2))
def test_every_view_is_readable_and_named(
    server: Running, open_page: OpenPage, view: str, scheme: str
) -> None:
    key = server.new_key()
    fill(server, key)
    page = open_page(key, f"#/{view}", color_scheme=scheme)
    expect(page.locator("main .card, main .grid").first).to_be_visible()
    page.wait_for_function(
        "document.querySelector('main').getAnimations({subtree: true}).length === 0"
    )
    assert page.evaluate(CONTRASTS) == []
    assert page.evaluate(UNNAMED) == []
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(20, 22, 29)") is (scheme == "dark")


def test_the_focus_goes_through_the_page_in_order(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    fill(server, key)
    page = open_page(key, "#/memories")
    expect(page.locator(".grid-row:visible")).to_have_count(3)
    page.locator("body").press("Tab")
    names = [focused(page)]
    for _ in range(11):
        page.keyboard.press("Tab")
        names.append(focused(page))
    assert names[:2] == ["Skip to content", "Recollect"]
    assert names[2:8] == ["Home", "Memories", "Recall", "Graph", "Review", "Admin"]
    assert names[8:11] == ["API", "Sign out", "Words in the text"]


def focused(page: Page) -> str:
    name = page.evaluate("document.activeElement.ariaLabel || document.activeElement.textContent")
    return str(name).strip()


def test_nothing_moves_after_it_was_shown(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    fill(server, key)
    page = open_page(key, "#/memories", viewport=PHONE)
    expect(page.locator(".grid-row:visible")).to_have_count(3)
    shift = page.evaluate(
        "new Promise((done) => { let sum = 0; const seen = new PerformanceObserver((list) => {"
        " for (const entry of list.getEntries()) sum += entry.value; });"
        " seen.observe({ type: 'layout-shift', buffered: true });"
        " requestAnimationFrame(() => requestAnimationFrame(() => done(sum))); })"
    )
    assert shift < 0.1


def test_matching_words_are_marked_as_text(server: Running, open_page: OpenPage) -> None:
    """Positions count code points, of which an emoji is one and two units in JavaScript."""
    page = open_page(server.new_key(), "#/recall")
    found = page.evaluate(
        """async ([text, matches]) => {
          const { highlighted } = await import("/assets/parts/dom.js");
          const node = highlighted(text, matches);
          const marks = [...node.querySelectorAll("mark")];
          return [node.textContent, marks.map((mark) => mark.textContent)];
        }""",
        [
            "🐘 <b>ships</b> at noon",
            [
                {"word": "noon", "start": 18, "end": 22, "similarity": 0.9},
                {"word": "deploy", "start": 5, "end": 10, "similarity": 0.7},
            ],
        ],
    )
    assert found == ["🐘 <b>ships</b> at noon", ["ships", "noon"]]
