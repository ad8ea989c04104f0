"""Which names a query holds when its capitals do not show them."""

from __future__ import annotations

import pytest

from recollect.core.graph.query_names import MAX_NAME_WORDS, MAX_WORDS, runs, select_names

KNOWN = {
    "john lennon": "John Lennon",
    "brother of john lennon": "The Brother of John Lennon",
    "lennon play": "Lennon play",
    "bank of england": "Bank of England",
    "band": "Band",
    "john": "John",
    "gene expression": "Gene expression",
    "vitamin d": "Vitamin D",
    "type 1": "Type 1",
    "new york": "New York",
    "ada lovelace": "Ada Lovelace",
    "what is": "What Is",
}


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("which band did john lennon play in", ["john lennon"]),
        ("which band did the brother of john lennon play in", ["brother of john lennon"]),
        ("was john lennon's brother in new york?", ["john lennon", "new york"]),
        ("where is the bank of england", ["bank of england"]),
        ("JOHN LENNON AND ADA LOVELACE", ["john lennon", "ada lovelace"]),
        ("did john, lennon and ada; lovelace meet", []),  # no name continues after a comma
        ("what is the band that john plays in", []),  # a single word is not a name
        ("does gene expression depend on vitamin d in type 1", []),
        ("john lennon or john lennon", ["john lennon"]),
        ("Did john lennon play?", []),  # who capitalizes one word capitalizes names
        ("", []),
    ],
)
def test_named_among_finds_names_in_any_case(query: str, keys: list[str]) -> None:
    assert select_names(runs(query), KNOWN) == keys


def test_runs_of_a_query_are_bounded() -> None:
    found = runs("lorem ipsum, dolor " * 10_000)
    assert len(found) < MAX_WORDS * MAX_NAME_WORDS
    assert len(found[0].key.split()) <= MAX_NAME_WORDS
    assert max(run.after for run in found) <= MAX_WORDS
