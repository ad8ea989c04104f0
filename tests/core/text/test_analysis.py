"""Any text is a legal query: how it is cleaned, and that nothing in it is an operator."""

from __future__ import annotations

import pytest
from hypothesis import given
from tests.strategies import any_text

from recollect.core.text.analysis import MAX_QUERY_CHARS, clean_query, counted, find_unstorable
from recollect.core.text.segments import words

QUERIES: list[tuple[str, tuple[str, ...]]] = [
    ("Where is the staging database?", ("where", "is", "the", "staging", "database")),
    ('staging AND "database" OR prod*', ("staging", "and", "database", "or", "prod")),
    ("content:frozen NEAR(a, b)", ("content", "frozen", "near", "a", "b")),
    ("a & b | !c <-> d:*", ("a", "b", "c", "d")),
    ("snake_case-and.dots", ("snake", "case", "and", "dots")),
    ("naïve café", ("naïve", "café")),
    ("cafe\u0301", ("café",)),
    ("İstanbul", ("i̇stanbul",)),
    ("שלום עולם", ("שלום", "עולם")),
    ("東京 2026", ("東京", "2026")),
    ("🚀", ()),
    ("", ()),
    ("\x00 \n ' \" ; --", ()),
    ("nul\x00byte", ("nul", "byte")),
    ("half\ud800surrogate", ("half", "surrogate")),
]


@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_words_of_a_query(query: str, expected: tuple[str, ...]) -> None:
    assert words(clean_query(query)) == expected


def test_clean_query_cuts_a_pasted_megabyte() -> None:
    assert len(clean_query("x" * 1_000_000)) == MAX_QUERY_CHARS


def test_clean_query_keeps_whole_words_of_the_beginning_and_the_end() -> None:
    pasted = " ".join(f"pasted{number}" for number in range(10_000))
    kept = clean_query(f"what fails here? {pasted} please fix it").split()
    assert len(" ".join(kept)) <= MAX_QUERY_CHARS
    assert kept[:3] == ["what", "fails", "here?"]
    assert kept[-3:] == ["please", "fix", "it"]
    assert {*kept[3:-3]} <= {*pasted.split()}


def test_clean_query_bounds_the_marks_on_a_character() -> None:
    assert len(clean_query("a" + "\u0301\u0316" * 900)) <= 31
    assert clean_query("cafe\u0301") == "café"


@given(any_text)
def test_clean_query_is_storable_and_stable(text: str) -> None:
    clean = clean_query(text)
    assert find_unstorable(clean) is None
    assert clean_query(clean) == clean


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("plain", None),
        ("emoji 🚀 and שלום", None),
        ("a\x00", "a NUL character"),
        ("a\udc80", "half of a surrogate pair (broken UTF-8)"),
        ("\ud800", "half of a surrogate pair (broken UTF-8)"),
    ],
)
def test_unstorable_names_the_character(text: str, found: str | None) -> None:
    assert find_unstorable(text) == found


@given(any_text)
def test_storable_text_can_be_encoded(text: str) -> None:
    try:
        text.encode()
        encodable = "\x00" not in text
    except UnicodeEncodeError:
        encodable = False
    assert (find_unstorable(text) is None) == encodable


@pytest.mark.parametrize(
    ("number", "noun", "expected"),
    [
        (0, "memory", "0 memories"),
        (1, "memory", "1 memory"),
        (2, "sensitive memory", "2 sensitive memories"),
        (1, "key", "1 key"),
        (3, "key", "3 keys"),
        (5051, "file", "5,051 files"),
    ],
)
def test_counted_uses_singular_and_plural(number: int, noun: str, expected: str) -> None:
    assert counted(number, noun) == expected
