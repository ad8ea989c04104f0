"""Long memories from the command line: stored whole, found by any part, shown by the passage."""

from __future__ import annotations

from tests.shells.cli.commands import Cli

FILLER = "The weather was fine and nothing else was said about the matter that day. "
FACT = "The ferry to Marblehead leaves at nine."
TEXT = FILLER * 600 + FACT + " " + FILLER * 600


def test_recall_shows_the_passage_of_a_long_memory(cli: Cli) -> None:
    stored = cli.json("remember", "-", input=TEXT)
    assert stored["content"] == TEXT.strip()
    (hit,) = cli.json("recall", "ferry to Marblehead")["hits"]
    passage = hit["passage"]
    assert FACT in passage["text"]
    assert stored["content"][passage["start"] : passage["end"]] == passage["text"]
    shown = cli("recall", "ferry to Marblehead").stdout
    assert "Marblehead" in shown
    assert f"of {len(stored['content']):,}" in shown
    assert len(shown) < 10_000


def test_a_short_memory_has_no_passage(cli: Cli) -> None:
    cli.json("remember", FACT)
    (hit,) = cli.json("recall", "ferry")["hits"]
    assert hit["passage"] is None


def test_a_list_shows_the_beginning_of_a_long_memory(cli: Cli) -> None:
    cli.json("remember", "-", input="A heading\n\n" + TEXT)
    cli.json("remember", FACT)
    shown = cli("list").stdout
    assert "A heading The weather" in " ".join(shown.split())
    assert "characters" in shown
    assert len(shown) < 3_000
    assert len(cli.json("list")["memories"][1]["content"]) > 80_000


def test_recall_without_a_matching_passage_shows_the_beginning(cli: Cli) -> None:
    cli.json("remember", "-", "--keyword", "zeppelin", input=TEXT)
    (hit,) = cli.json("recall", "zeppelin")["hits"]
    assert hit["passage"] is None
    shown = cli("recall", "zeppelin").stdout
    assert "The weather was fine" in " ".join(shown.split())
    assert "characters 1 to 1,500 of" in " ".join(shown.split())
    assert len(shown) < 10_000
