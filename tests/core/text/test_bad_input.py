"""Texts that no one writes on purpose: found by what they contain, never an error, never slow."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from recollect.core.text.analysis import clean_query
from recollect.core.text.terms import analyze, main_language, query_forms


def is_found(query: str, text: str) -> bool:
    positions, languages = analyze(text)
    forms = {form for position in positions for form in position}
    words = query_forms(clean_query(query), languages)
    return bool(words) and all(any(form in forms for form in word) for word in words)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("deploy", "de\u200bploy on Friday"),
        ("de\u200dploy", "deploy on Friday"),
        ("deploy", "\u202edeploy\u202c on Friday"),
        ("שלום", "\u200fשלום\u200f לכולם"),
        ("deploy", "\ufeffdeploy\u00ad on Friday"),
        ("deploy", "broken \ud800 halves \udfff of deploy"),
        ("cafe", "c\u0301a\u0301f\u0301e\u0301"),
        ("Zalgo", "".join(letter + "\u0301" * 8 for letter in "Zalgo")),
        ("緑茶", "緑\u200b茶"),
        ("ｄｅｐｌｏｙ", "deploy"),
        ("мир", "мир 和平 peace سلام 평화"),
        ("和平", "мир 和平 peace سلام 평화"),
        ("سلام", "мир 和平 peace سلام 평화"),
        ("평화", "мир 和平 peace سلام 평화"),
        ("ᎣᏏᏲ", "ᎣᏏᏲ from an unknown language"),
    ],
)
def test_a_text_is_found_by_what_is_seen_of_it(query: str, text: str) -> None:
    assert is_found(query, text)


def calls_of(work: Callable[[], object]) -> int:
    """Count the function calls of `work`: its cost, however busy the machine is."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "aB",
        "a1",
        "a.",
        "a_b/",
        "é",
        "e\u0301",
        "\u0301",
        "あ",
        "漢",
        "한",
        "ก\u0e49",
        "ا",
        "\u200b",
        "😀",
    ],
)
def test_the_work_grows_with_the_length_of_a_text_without_spaces(unit: str) -> None:
    short, long = (unit * (size // len(unit)) for size in (20_000, 80_000))
    for text in (short, long):  # cached properties of characters count for neither
        analyze(text)
    once, four_times = (calls_of(lambda text=text: analyze(text)) for text in (short, long))  # type: ignore[misc]
    assert four_times <= 4.4 * once + 100


def test_a_megabyte_without_spaces_is_analyzed() -> None:
    positions, _ = analyze("x" * 1_000_000)
    assert len(positions) == -(-1_000_000 // 64)
    assert main_language("x" * 1_000_000) == "en"
