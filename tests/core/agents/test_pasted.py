"""What was pasted into a prompt is not its user's own statement."""

from __future__ import annotations

import json
import time

import pytest
from tests.core.agents.prompts import PASTED, STATED

from recollect.core.agents.capture import statements
from recollect.core.agents.pasted import remove_pasted
from recollect.core.agents.transcript import own_words


@pytest.mark.parametrize(("prompt", "captured"), PASTED)
def test_what_was_pasted_is_not_captured(prompt: str, captured: list[str]) -> None:
    assert [statement.content for statement in statements(prompt)] == captured


@pytest.mark.parametrize(("prompt", "captured"), STATED)
def test_what_was_said_is_captured(prompt: str, captured: list[str]) -> None:
    assert [statement.content for statement in statements(prompt)] == captured


def test_a_tab_after_a_bullet_makes_no_table() -> None:
    rules = "1.\tNever call the client.\n-\tAlways call the support.\n-\tNever shout at clients."
    assert len(statements(rules)) == 3


@pytest.mark.parametrize("inner", ["  <div>a</div>", "b <div>a</div> c", "see <div> there"])
def test_an_element_ends_where_it_was_opened(inner: str) -> None:
    assert statements(f"<div>\n{inner}\nNever call the client.\n</div>") == []


def test_a_mail_ends_at_a_ruler_or_never() -> None:
    mail = "From: Tom\nSubject: Calls\n\nNever call the client.\n\nRegards,\nTom"
    assert statements(f"{mail}\n\nI prefer short calls.") == []
    assert len(statements(f"{mail}\n---\nI prefer short calls.")) == 1


@pytest.mark.parametrize(("prompt", "captured"), PASTED)
def test_line_ends_of_other_systems_change_nothing(prompt: str, captured: list[str]) -> None:
    crossed = prompt.replace("\r\n", "\n").replace("\n", "\r\n")
    assert [statement.content for statement in statements(crossed)] == captured


def test_what_is_said_after_a_long_document_is_captured() -> None:
    document = "<document>\n" + "Always water the plants.\n" * 40_000 + "</document>\n"
    began = time.process_time()
    (found,) = statements(f"{document}I prefer small documents.")
    assert found.content == "I prefer small documents."
    assert time.process_time() - began < 30


def test_a_prompt_that_starts_indented_keeps_its_first_line_s_indentation() -> None:
    prompt = "\n    Never push to the main branch.\n    Always squash commits.\n"
    line = json.dumps({"type": "user", "message": {"role": "user", "content": prompt}})
    ((text, _),) = own_words([line.encode()])
    assert statements(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "a\n\nb",
        "- a\n    - b",
        "I prefer `a < b` to `b > a`.",
        "<a>\nb",
        "{\na",
        "From: a",
    ],
)
def test_text_without_a_pasted_part_stays_as_it_is(text: str) -> None:
    assert remove_pasted(text).strip() == text.strip()


@pytest.mark.parametrize(("start", "end"), [("{\n", "}\n"), ("<a>", "</a>"), ("<a>\n", "</b>\n")])
def test_deep_nesting_takes_no_longer_than_its_length(start: str, end: str) -> None:
    began = time.process_time()
    remove_pasted(start * 50_000 + end * 50_000)
    assert time.process_time() - began < 30
