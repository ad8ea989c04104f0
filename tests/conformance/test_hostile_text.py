"""Any text is a legal query, and to its writer all of it is only text."""

from __future__ import annotations

import pytest
from tests.conformance.samples import fill, ids, memory, search

from recollect.core.memory.memory import Limits, Scope, check_memory
from recollect.ports.stores import MemoryStore

pytestmark = pytest.mark.anyio

# Each holds the word `harbour`, next to what is an operator somewhere.
OPERATORS = {
    "FTS5 AND": "harbour AND",
    "FTS5 leading AND": "AND harbour",
    "FTS5 OR": "OR OR harbour OR",
    "FTS5 NOT": "harbour NOT",
    "FTS5 NEAR": "NEAR(harbour, 5",
    "FTS5 column": "content:harbour",
    "FTS5 minus column": "-content : harbour",
    "FTS5 columns": "{content tags}: harbour",
    "FTS5 prefix": "harbour*",
    "FTS5 initial": "^harbour",
    "FTS5 plus": "harbour + +",
    "FTS5 command": "harbour 'integrity-check'",
    "tsquery and": "harbour & &",
    "tsquery or": "| harbour |",
    "tsquery not": "!harbour",
    "tsquery phrase": "harbour <-> <2>",
    "tsquery weight": "harbour:*ABCD",
    "tsquery parentheses": "((harbour",
    "web search minus": '-"harbour',
    "double quotes": '"harbour" ""',
    "an open double quote": '"harbour',
    "single quotes": "'harbour' ''",
    "an open single quote": "harbour'",
    "a backslash": "harbour\\",
    "dollar quoting": "$$harbour$$",
    "a comment": "harbour -- /* */",
    "SQL": "harbour'; DROP TABLE memories; --",
    "LIKE wildcards": "%harbour_%",
    "placeholders": "harbour %s %(q)s :owner ? $1 {}",
    "NUL": "\x00harbour\x00",
    "control characters": "\x01\x02harbour\x1f\x7f",
    "a lone surrogate": "\ud800harbour\udfff",
    "a byte order mark": "\ufeffharbour",
    "right-to-left marks": "\u202eharbour\u202c \u200f",
    "emoji": "🦀 harbour 👩‍👩‍👧‍👦",
    "a combining mark": "harbour \u0301",
    "line breaks": "\r\n harbour \u2028",
}


@pytest.mark.parametrize("query", OPERATORS.values(), ids=OPERATORS.keys())
async def test_query_operators_are_treated_as_text(store: MemoryStore, query: str) -> None:
    await fill(store, memory(1, "the harbour"), memory(2, "the bridge"))
    await fill(store, memory(3, "the harbour", owner="eve"), memory(4, "harbour", project="other"))
    assert sorted(await search(store, query)) == ids(1, 4)
    assert await search(store, query, Scope(project="other")) == ids(4)
    assert await search(store, "x", Scope(project="other"), expanded=query) == ids(4)


WITHOUT_A_MATCH = {
    "nothing": "",
    "spaces": " \t\n ",
    "only NUL": "\x00",
    "only a surrogate": "\udc80",
    "only quotes": "\"'`",
    "only operators": "& | ! <-> ( ) : * ^ + - ~ \\",
    "only wildcards": "%%%___",
    "only stop words": "the and of to",
    "one stop word": "is",
    "emoji": "👩‍🚀",
    "a right-to-left word": "مرحبا",
    "a word of 100,000 letters": "a" * 100_000,
    "a megabyte of words": "word " * 200_000,
    "a megabyte of different words": " ".join(f"w{number}" for number in range(150_000)),
    "a megabyte of quotes": '"' * 1_000_000,
    "a megabyte of wildcards": "%_" * 500_000,
    "a megabyte of parentheses": "(" * 1_000_000,
    "a megabyte of emoji": "🦀" * 250_000,
    "a megabyte of surrogates": "\ud800" * 300_000,
}


@pytest.mark.parametrize("query", WITHOUT_A_MATCH.values(), ids=WITHOUT_A_MATCH.keys())
async def test_a_text_that_nothing_matches(store: MemoryStore, query: str) -> None:
    await fill(store, memory(1, "bridge"), memory(2, "harbour"))
    assert await search(store, query) == []
    assert await search(store, "", expanded=query) == []


async def test_a_text_with_half_of_a_surrogate_pair_is_stored_and_found(store: MemoryStore) -> None:
    broken = memory(1, "a broken \ud800 harbour \udfff", tags=("\ud800 boats",))
    await fill(store, check_memory(broken, Limits()))
    assert await search(store, "harbour") == ids(1)
    (kept,) = await store.page(broken.owner, Scope(), None, 10)
    assert kept.content == "a broken \ufffd harbour \ufffd"
    assert kept.tags == ("\ufffd boats",)


async def test_a_megabyte_around_the_word_that_counts(store: MemoryStore) -> None:
    await fill(store, memory(1, "the harbour"), memory(2, "the bridge"))
    assert await search(store, "harbour " + "filler " * 150_000) == ids(1)
