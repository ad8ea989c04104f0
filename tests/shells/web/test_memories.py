"""The memories of the page: filter, sort, scroll, edit, act on many, undo."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tests.effort import sample
from tests.serving import Running
from tests.shells.web.conftest import PHONE, OpenPage, Watched
from tests.shells.web.test_local_page import recollect
from tests.strategies import new_id

from recollect.core.memory.memory import Memory
from recollect.core.text.analysis import INVISIBLE

HOSTILE = {
    "script": "<script>document.title='owned'</script><img src=x onerror=alert(1)>",
    "right to left": "safe \u202egnp.exe\u202c and \u2066isolated",
    "long word": "\N{MATHEMATICAL BOLD CAPITAL A}" * 100_000,
    "emoji": "👩‍👩‍👧‍👦 🏴󠁧󠁢󠁳󠁣󠁴󠁿 ☠️ e\u0301\u0301\u0301\u0301",
    "hidden": "all\U000e0061\U000e0062 is\ufe01\ufe02 said\u200b\u2800\u3164",
    "template": "{{ categories }} ${alert(1)} javascript:alert(1)",
}
# Invisible characters are not shown, except those that join others.
SHOWN = {
    "right to left": "safe gnp.exe and isolated",
    "emoji": "👩‍👩‍👧‍👦 🏴 ☠️ e\u0301\u0301\u0301\u0301",
    "hidden": "all is said",
}


def store(client: httpx.Client, content: str, **fields: Any) -> str:
    answer = client.post("memories", json={"content": content, **fields})
    assert answer.is_success, answer.text
    return str(answer.json()["id"])


def rows(page: Page) -> Locator:
    return page.locator(".grid-row:visible")


def test_the_table_is_filtered_and_the_filters_are_in_the_address(
    server: Running, open_page: OpenPage
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        store(client, "the red boat", project="shop", tags=["sea"], category="decision")
        store(client, "the blue boat", tags=["captured"])
        store(client, "a car", session="monday")
    page = open_page(key, "#/memories")
    expect(rows(page)).to_have_count(3)
    page.get_by_label("Words in the text").fill("BOAT red")
    expect(rows(page)).to_have_count(1)
    page.reload()
    expect(page.get_by_label("Words in the text")).to_have_value("BOAT red")
    expect(rows(page)).to_have_count(1)
    page.get_by_label("Words in the text").fill("")
    expect(rows(page)).to_have_count(3)
    page.get_by_text("More filters").click()
    for label, value, left in (
        ("Project", "shop", "the red boat"),
        ("Session", "monday", "a car"),
        ("Tag", "sea", "the red boat"),
    ):
        page.get_by_label(label, exact=True).fill(value)
        page.keyboard.press("Enter")
        expect(rows(page)).to_have_count(1)
        expect(rows(page)).to_contain_text(left)
        page.get_by_label(label, exact=True).fill("")
        page.keyboard.press("Enter")
        expect(rows(page)).to_have_count(3)
    page.get_by_label("Category", exact=True).select_option("decision")
    expect(rows(page)).to_have_count(1)
    page.get_by_label("Category", exact=True).select_option("")
    page.get_by_label("Source").select_option("yes")
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("the blue boat")
    page.get_by_label("Stored before").fill("2020-01-01")
    expect(page.get_by_role("heading", name="No memory matches these filters")).to_be_visible()
    page.get_by_role("button", name="Remove the filters").click()
    expect(rows(page)).to_have_count(3)


def test_the_table_is_sorted_by_its_headings(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        for text, importance in (("low", 0.1), ("high", 0.9), ("middle", 0.5)):
            store(client, text, importance=importance)
    page = open_page(key, "#/memories")
    page.get_by_role("button", name="Importance").click()
    expect(rows(page)).to_contain_text(["high", "middle", "low"])
    page.get_by_role("button", name="Importance").click()
    expect(rows(page)).to_contain_text(["low", "middle", "high"])
    heading = page.get_by_role("columnheader", name="Importance")
    expect(heading).to_have_attribute("aria-sort", "ascending")


def test_any_row_of_a_long_table_is_reached_with_few_elements(
    server: Running, open_page: OpenPage
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        for start in range(0, 1500, 500):
            memories = [{"content": f"note {number:04}"} for number in range(start, start + 500)]
            assert client.post("/memories:batch", json={"memories": memories}).is_success
    page = open_page(key, "#/memories")
    expect(page.get_by_text("1,500 memories")).to_be_visible()
    first = rows(page).first
    expect(first).to_contain_text("note")
    page.locator(".grid-row[tabindex='0']").focus()
    page.keyboard.press("End")
    expect(page.locator(".grid-row[aria-rowindex='1501']")).to_contain_text("note")
    expect(page.locator(".grid-row[aria-rowindex='1501']")).to_be_focused()
    assert page.locator(".grid-row").count() < 60
    page.keyboard.press("ArrowUp")
    expect(page.locator(".grid-row[aria-rowindex='1500']")).to_be_focused()
    page.locator(".grid-body").evaluate("(body) => { body.scrollTop = 700 * 44; }")
    expect(page.locator(".grid-row[aria-rowindex='705']")).to_contain_text("note")


def test_hostile_texts_are_shown_as_text(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        ids = {
            name: store(client, text, tags=["<b>t</b>"], project="<i>p</i>")
            for name, text in HOSTILE.items()
        }
    page = open_page(key, "#/memories")
    expect(rows(page)).to_have_count(len(HOSTILE))
    assert page.locator("main script, main img, main b, main i").count() == 0
    for name, id in ids.items():
        page.goto(f"{server.url}/#/memory/{id}")
        expect(page.locator(".content .said")).to_have_text(SHOWN.get(name, HOSTILE[name]))
        assert page.locator(".content .said *").count() == 0
        assert fits(page)
    assert "owned" not in page.title()


def test_invisible_characters_are_those_of_unicode(open_page: OpenPage) -> None:
    page = open_page(None)
    known = page.evaluate(
        r"""[...Array(0x110000).keys()].filter((code) =>
            /[\p{Default_Ignorable_Code_Point}\u2800]/u.test(String.fromCodePoint(code)))"""
    )
    assert [code for code in range(0x110000) if INVISIBLE.match(chr(code))] == known


@pytest.mark.slow
def test_a_memory_of_one_megabyte_word_does_not_break_the_layout(
    server: Running, open_page: OpenPage
) -> None:
    """The API accepts 100,000 characters; a store may have longer texts from elsewhere."""
    word = "W" * 1_000_000
    key = server.new_key("archivist")
    at = datetime.now(UTC)
    memory = Memory(id=new_id(), owner="archivist", content=word, created_at=at, updated_at=at)
    adding = server.server.context.store.add(memory)
    asyncio.run_coroutine_threadsafe(adding, server.loop).result()
    page = open_page(key, "#/memories")
    expect(rows(page)).to_have_count(1)
    assert fits(page)
    page.goto(f"{server.url}/#/memory/{memory.id}")
    expect(page.locator(".content .said")).to_have_text(word)
    assert fits(page)
    with server.client(key) as client:
        changed = client.patch(f"memories/{memory.id}", json={"content": "short"})
        assert changed.is_success, changed.text
    expect(page.locator(".content .said")).to_have_text("short")
    expect(page.locator("del")).to_contain_text("WWW")
    assert fits(page)


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_the_links_of_a_memory_are_shown_and_followed(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        old = store(client, "the ferry leaves at six")
        links = [{"kind": "supersedes", "target": old}]
        new = store(client, "the ferry leaves at seven", links=links)
    page = open_page(key, f"#/memory/{new}")
    facts = page.get_by_role("complementary", name="Facts")
    expect(facts).to_contain_text("supersedes")
    facts.get_by_role("link", name=old[-8:]).click()
    expect(page.locator(".content")).to_have_text("the ferry leaves at six")


def test_a_sensitive_text_is_masked_until_it_is_asked_for(
    server: Running, open_page: OpenPage
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        id = store(client, "the vault opens with 4711", is_sensitive=True)
    page = open_page(key, "#/memories")
    expect(rows(page)).to_contain_text("Sensitive text")
    assert "4711" not in page.content()
    rows(page).get_by_role("button", name="Show").click()
    expect(rows(page)).to_contain_text("4711")
    page.goto(f"{server.url}/#/memory/{id}")
    expect(page.locator(".masked")).to_be_visible()
    assert "4711" not in page.content()
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".content")).to_contain_text("4711")


def test_a_memory_is_added_edited_and_brought_back(server: Running, open_page: OpenPage) -> None:
    page = open_page(server.new_key(), "#/memories")
    page.get_by_role("button", name="New memory").click()
    page.get_by_label("Text", exact=True).fill("the ferry leaves at six")
    page.get_by_label("Tags").fill("sea, time")
    page.get_by_role("button", name="Remember").click()
    expect(page.get_by_text("Remembered: the ferry")).to_be_visible()
    rows(page).first.click()
    expect(page.locator("dl.facts")).to_contain_text("time")
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_label("Text", exact=True)).to_be_focused()
    page.get_by_label("Text", exact=True).fill("the ferry leaves at seven")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".content")).to_have_text("the ferry leaves at seven")
    expect(page.locator(".versions del")).to_have_text("six")
    expect(page.locator(".versions ins")).to_have_text("seven")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".content")).to_have_text("the ferry leaves at six")
    page.get_by_role("button", name="Bring back").first.click()
    expect(page.locator(".content")).to_have_text("the ferry leaves at seven")


def test_a_live_update_that_arrives_late_keeps_the_open_form(
    server: Running, open_page: OpenPage
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        id = store(client, "the ferry leaves at six")
        page = open_page(key, f"#/memory/{id}")
        expect(page.locator(".content")).to_be_visible()
        held: list[Route] = []
        page.route("**/details", lambda route: held.append(route))
        with page.expect_request("**/details"):
            client.patch(f"memories/{id}", json={"tags": ["theirs"]})
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("Text", exact=True).fill("the ferry leaves at seven")
        with page.expect_response("**/details"):
            for route in held:
                route.continue_()
        page.evaluate("new Promise((done) => setTimeout(done, 200))")  # it has drawn the answer
        expect(page.get_by_label("Text", exact=True)).to_have_value("the ferry leaves at seven")


def test_a_lifetime_is_set_changed_and_removed(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    page = open_page(key, "#/memories")
    page.get_by_role("button", name="New memory").click()
    page.get_by_label("Text", exact=True).fill("the ferry is out of service")
    page.get_by_label("Valid from").fill("2020-01-01T08:00:00")
    page.get_by_label("Valid until").fill("2020-02-01T10:30:15")
    page.get_by_role("button", name="Remember").click()
    expect(rows(page).first.locator(".chip", has_text="expired")).to_be_visible()
    rows(page).first.click()
    with server.client(key) as client:
        (memory,) = client.get("memories").json()["memories"]
        assert memory["valid_from"] == local_moment(page, "2020-01-01T08:00:00")
        assert memory["valid_until"] == local_moment(page, "2020-02-01T10:30:15")
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("Valid from").fill("2999-01-01T08:00:00")
        page.get_by_label("Valid until").fill("")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("dl.facts")).to_contain_text("2999")
        changed = client.get(f"memories/{memory['id']}").json()
        assert changed["valid_from"] == local_moment(page, "2999-01-01T08:00:00")
        assert changed["valid_until"] is None
    page.goto(f"{server.url}/#/memories")
    expect(rows(page).first.locator(".chip", has_text="not valid yet")).to_be_visible()


@pytest.mark.parametrize("second", sample(["00", "07"]))
def test_editing_a_text_keeps_its_lifetime_exactly(
    server: Running, open_page: OpenPage, second: str
) -> None:
    key = server.new_key()
    lifetime = {
        "valid_from": f"2020-01-01T08:00:{second}.123456Z",
        "valid_until": f"2999-01-01T08:30:{second}.654321Z",
    }
    with server.client(key) as client:
        id = store(client, "the ferry leaves at six", **lifetime)
        page = open_page(key, f"#/memory/{id}")
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("Text", exact=True).fill("the ferry leaves at seven")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".content")).to_have_text("the ferry leaves at seven")
        found = client.get(f"memories/{id}").json()
        assert {name: found[name] for name in lifetime} == lifetime


def local_moment(page: Page, text: str) -> str:
    """Convert a local time of the browser to the format of the API."""
    moment: str = page.evaluate("text => new Date(text).toISOString()", text)
    return moment.replace(".000Z", "Z")


def test_two_tabs_that_edit_one_memory_see_both_sides(
    server: Running, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed = ("409",)
    key = server.new_key()
    with server.client(key) as client:
        id = store(client, "the ferry leaves at six")
    one, other = open_page(key, f"#/memory/{id}"), open_page(key, f"#/memory/{id}")
    for page, text in ((one, "the ferry leaves at seven"), (other, "the ferry leaves at eight")):
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("Text", exact=True).fill(text)
    one.get_by_role("button", name="Save").click()
    expect(one.locator(".content")).to_have_text("the ferry leaves at seven")
    other.get_by_role("button", name="Save").click()
    conflict = other.get_by_role("alertdialog", name="Conflict")
    expect(conflict).to_contain_text("changed while you edited it")
    expect(conflict.locator("del")).to_have_text("eight")
    expect(conflict.locator("ins")).to_have_text("seven")
    expect(other.get_by_role("button", name="Keep mine")).to_be_focused()
    other.get_by_role("button", name="Keep mine").click()
    expect(other.locator(".content")).to_have_text("the ferry leaves at eight")
    expect(one.locator(".content")).to_have_text("the ferry leaves at eight")


def test_many_are_forgotten_and_restored_by_undo(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        for number in range(5):
            store(client, f"note {number}")
    page = open_page(key, "#/memories")
    rows(page).nth(0).get_by_role("checkbox").click()
    rows(page).nth(2).get_by_role("checkbox").click(modifiers=["Shift"])
    expect(page.get_by_text("3 memories selected")).to_be_visible()
    page.get_by_role("button", name="Forget").click()
    expect(rows(page)).to_have_count(2)
    page.get_by_role("button", name="Undo").click()
    expect(rows(page)).to_have_count(5)
    expect(page.get_by_text("Undone.")).to_be_visible()


def choose(page: Page, *buttons: str, typed: str | None = None) -> None:
    """Click the buttons of an action on the selected memories, and type into its form."""
    for name in buttons:
        page.get_by_role("button", name=name, exact=True).click()
        if typed is not None and name == buttons[0]:
            page.locator(".bulk-form input").fill(typed)


@pytest.mark.parametrize(
    ("buttons", "typed", "field", "value"),
    [
        (("Tag", "Add tags"), "new, newer", "tags", ["old", "new", "newer"]),
        (("Move", "Move"), "shop", "project", "shop"),
        (("Move", "Remove from their projects"), "", "project", None),
        (("Mark sensitive",), None, "is_sensitive", True),
    ],
)
def test_many_are_changed_at_once_and_changed_back(
    server: Running,
    open_page: OpenPage,
    buttons: tuple[str, ...],
    typed: str | None,
    field: str,
    value: object,
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        ids = [store(client, f"note {number}", tags=["old"], project="sea") for number in range(3)]
        before = client.get(f"memories/{ids[0]}").json()[field]
        page = open_page(key, "#/memories")
        expect(rows(page)).to_have_count(3)
        page.get_by_role("button", name="Select all").click()
        if buttons == ("Move", "Move"):
            page.get_by_role("button", name="Move", exact=True).click()
            page.get_by_label("Project", exact=True).last.fill(typed or "")
            page.keyboard.press("Enter")
        else:
            choose(page, *buttons, typed=typed)
        expect(page.get_by_role("button", name="Undo")).to_be_visible()
        assert [client.get(f"memories/{id}").json()[field] for id in ids] == [value] * 3
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("Undone.")).to_be_visible()
        assert [client.get(f"memories/{id}").json()[field] for id in ids] == [before] * 3


def test_moving_to_no_project_does_nothing(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        id = store(client, "note", project="sea")
        page = open_page(key, "#/memories")
        rows(page).first.get_by_role("checkbox").click()
        page.get_by_role("button", name="Move", exact=True).click()
        page.locator(".bulk-form").get_by_role("button", name="Move", exact=True).click()
        expect(page.locator(".bulk-form input")).to_be_visible()
        assert client.get(f"memories/{id}").json()["version"] == 1


def test_tagging_many_keeps_what_others_changed_meanwhile(
    server: Running, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed = ("409",)
    key = server.new_key()
    with server.client(key) as client:
        id = store(client, "note", tags=["old"])
        page = open_page(key, "#/memories")
        rows(page).first.get_by_role("checkbox").click()
        client.patch(f"memories/{id}", json={"tags": ["old", "theirs"]})
        choose(page, "Tag", "Add tags", typed="mine")
        expect(page.get_by_text("1 memory tagged.")).to_be_visible()
        assert client.get(f"memories/{id}").json()["tags"] == ["old", "theirs", "mine"]
        client.patch(f"memories/{id}", json={"tags": ["old", "theirs", "mine", "later"]})
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("alert")).to_contain_text("It was changed since then")
        assert client.get(f"memories/{id}").json()["tags"] == ["old", "theirs", "mine", "later"]


def test_an_edit_is_not_undone_over_a_later_one(
    server: Running, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed = ("409",)
    key = server.new_key()
    with server.client(key) as client:
        id = store(client, "the ferry leaves at six")
        page = open_page(key, f"#/memory/{id}")
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("Text", exact=True).fill("the ferry leaves at seven")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Saved.")).to_be_visible()
        client.patch(f"memories/{id}", json={"content": "the ferry leaves at eight"})
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("alert")).to_contain_text("It was changed since then")
        expect(page.locator(".content")).to_have_text("the ferry leaves at eight")


def test_a_former_version_is_brought_back_with_its_links(
    server: Running, open_page: OpenPage
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        other = store(client, "the harbour")
        links = [{"kind": "see_also", "target": other}]
        id = store(client, "the ferry leaves at six", links=links)
        client.patch(f"memories/{id}", json={"content": "the ferry leaves at nine", "links": []})
        page = open_page(key, f"#/memory/{id}")
        page.get_by_role("button", name="Bring back").click()
        expect(page.get_by_text("Version 1 is back.")).to_be_visible()
        assert client.get(f"memories/{id}").json()["links"] == links
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("Undone.")).to_be_visible()
        found = client.get(f"memories/{id}").json()
        assert (found["content"], found["links"]) == ("the ferry leaves at nine", [])


def test_what_can_be_done_is_done_and_the_rest_is_named(
    server: Running, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed = ("404",)
    key = server.new_key()
    with server.client(key) as client:
        ids = [store(client, f"note {number}") for number in range(2)]
        page = open_page(key, "#/memories")
        expect(rows(page)).to_have_count(2)
        page.get_by_role("button", name="Select all").click()
        expect(page.get_by_text("2 memories selected")).to_be_visible()
        client.delete(f"memories/{ids[1]}", params={"forever": True})
        page.get_by_role("button", name="Forget", exact=True).click()
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("1 memory forgotten. 1 of 2 failed: There is no memory")
        expect(page.get_by_text("Nothing is stored yet")).to_be_visible()
        expect(page.get_by_role("button", name="Select all")).to_be_visible()
        alert.get_by_role("button", name="Undo").click()
        expect(rows(page)).to_have_count(1)
        expect(rows(page)).to_contain_text("note 0")


def test_a_form_of_the_selection_stays_while_more_is_selected(
    server: Running, open_page: OpenPage
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        for number in range(2):
            store(client, f"note {number}")
    page = open_page(key, "#/memories")
    rows(page).nth(0).get_by_role("checkbox").click()
    page.get_by_role("button", name="Tag", exact=True).click()
    page.get_by_label("Tags to add").fill("new")
    rows(page).nth(1).get_by_role("checkbox").click()
    expect(page.get_by_text("2 memories selected")).to_be_visible()
    expect(page.get_by_label("Tags to add")).to_have_value("new")
    page.get_by_role("button", name="Add tags").click()
    expect(page.get_by_text("2 memories tagged.")).to_be_visible()


def test_selected_memories_are_exported_as_the_command_exports_them(
    server: Running, open_page: OpenPage, tmp_path: Path
) -> None:
    key = server.new_key()
    with server.client(key) as client:
        old = store(client, "port 8000")
        new = store(client, "port 9000", links=[{"kind": "supersedes", "target": old}])
        secret = store(client, "the code is 4711", is_sensitive=True)
    page = open_page(key, "#/memories")
    expect(rows(page)).to_have_count(3)
    page.get_by_role("button", name="Select all").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    expect(page.get_by_text("1 sensitive memory left out.")).to_be_visible()
    with page.expect_download() as whole:
        page.get_by_role("button", name="Include sensitive ones").click()
    for found, sent, options in (
        (download, [old, new], ()),
        (whole, [old, new, secret], ("--sensitive",)),
    ):
        home = tmp_path / f"{len(sent)}"
        home.mkdir()
        exported = home / "memories.jsonl"
        found.value.save_as(exported)
        answer = json.loads(recollect(home, "import", str(exported), "--json"))
        assert (answer["new"], answer["warnings"], answer["failures"]) == (len(sent), [], [])
        again = home / "again.jsonl"
        recollect(home, "export", str(again), *options)
        assert again.read_bytes() == exported.read_bytes()


def test_a_replaced_memory_leads_to_its_successor(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        old = store(client, "the ferry leaves at six")
        links = [{"kind": "supersedes", "target": old}]
        new = store(client, "the ferry leaves at seven", links=links)
    page = open_page(key, "#/memories")
    expect(rows(page)).to_have_count(2)
    (link,) = page.get_by_role("link", name="Replaced by another").all()
    expect(rows(page).filter(has=link)).to_contain_text("at six")
    link.click()
    expect(page).to_have_url(re.compile(new))
    expect(page.locator(".content")).to_have_text("the ferry leaves at seven")
    expect(page.get_by_text("Replaced by")).to_be_hidden()
    page.goto(f"{server.url}/#/memory/{old}")
    text = page.get_by_role("article", name="Text")
    expect(text).to_contain_text("Replaced by the ferry leaves at seven")
    text.get_by_role("link", name="at seven").click()
    expect(page.locator(".content")).to_have_text("the ferry leaves at seven")


def test_a_draft_stays_while_the_table_is_sorted(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        for text, importance in (("low", 0.1), ("high", 0.9)):
            store(client, text, importance=importance)
    page = open_page(key, "#/memories")
    page.get_by_role("button", name="New memory").click()
    page.get_by_label("Text", exact=True).fill("half a thought")
    page.get_by_role("button", name="Importance").click()
    expect(rows(page)).to_contain_text(["high", "low"])
    expect(page.get_by_role("button", name="Importance")).to_be_focused()
    expect(page.get_by_label("Text", exact=True)).to_have_value("half a thought")
    page.go_back()
    expect(rows(page)).to_contain_text(["high", "low"])
    expect(page.get_by_label("Text", exact=True)).to_have_value("half a thought")


def test_a_phone_sorts_with_a_list(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        for text, importance in (("high", 0.9), ("low", 0.1), ("middle", 0.5)):
            store(client, text, importance=importance)
    page = open_page(key, "#/memories", viewport=PHONE)
    sorting = page.get_by_label("Sorted by")
    expect(page.get_by_role("button", name="Importance")).to_be_hidden()
    sorting.select_option("least important first")
    expect(rows(page)).to_contain_text(["low", "middle", "high"])
    page.reload()
    expect(sorting).to_have_value("importance asc")
    expect(rows(page)).to_contain_text(["low", "middle", "high"])
    sorting.select_option("newest first")
    expect(rows(page)).to_contain_text(["middle", "low", "high"])


def test_forgotten_memories_are_listed_and_restored(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        client.delete(f"memories/{store(client, 'gone')}")
    page = open_page(key, "#/memories?state=forgotten")
    expect(rows(page)).to_contain_text("gone")
    rows(page).first.click()
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_role("button", name="Edit")).to_be_visible()


def test_the_table_works_with_the_keyboard_alone(server: Running, open_page: OpenPage) -> None:
    key = server.new_key()
    with server.client(key) as client:
        for number in range(3):
            store(client, f"note {number}")
    page = open_page(key, "#/memories")
    expect(rows(page)).to_have_count(3)
    page.get_by_role("button", name="Changed").focus()
    page.keyboard.press("Tab")
    expect(page.locator(".grid-row[aria-rowindex='2']")).to_be_focused()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    expect(page.get_by_text("2 memories selected")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Memory", exact=True)).to_be_visible()
    expect(page.locator(".content")).to_have_text("note 1")


def test_a_memory_that_does_not_exist_says_so(
    server: Running, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed = ("404",)
    page = open_page(server.new_key(), "#/memory/019a0000-0000-7000-8000-000000000001")
    expect(page.get_by_role("heading", name="This memory does not exist")).to_be_visible()
