"""Where words begin and end, in any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from tests.strategies import any_text

from recollect.core.text.segments import MAX_COMPOUND, MAX_WORD, segments, words

SEGMENTS: list[tuple[str, list[str]]] = [
    ("Deploy on Friday!", ["Deploy", "on", "Friday"]),
    ("don't", ["don", "t"]),
    ("l’homme", ["l", "homme"]),
    ("हिन्दी में कम्प्यूटर", ["हिन्दी", "में", "कम्प्यूटर"]),
    ("cafe\u0301 noir", ["cafe\u0301", "noir"]),
    ("pass\u200bword \u200erain\u200f", ["pass\u200bword", "rain\u200f"]),
    ("می\u200cخواهم", ["می\u200cخواهم"]),
    ("Pythonの設定", ["Python", "の設定"]),
    ("서울에서 만나", ["서울에서", "만나"]),
    ("ภาษาไทย 2026", ["ภาษาไทย", "2026"]),
    ("tea 🍵🍵", ["tea", "🍵", "🍵"]),
    ("half\ud800surrogate", ["half", "surrogate"]),
    ("OrderService", ["OrderService", "Order", "Service"]),
    ("HTTPServer2", ["HTTPServer2", "HTTP", "Server", "2"]),
    ("make_release", ["make_release", "make", "release"]),
    ("ERR_CONN_RESET", ["ERR_CONN_RESET", "ERR", "CONN", "RESET"]),
    ("v2.3.1", ["v2.3.1", "v2", "v", "2", "3", "1"]),
    ("sha256", ["sha256", "sha", "256"]),
    ("bob@example.com", ["bob@example.com", "bob", "example.com", "example", "com"]),
    (
        "src/core/order_service.py",
        [
            *("src/core/order_service.py", "src", "core", "order_service.py", "order_service"),
            *("order", "service", "py"),
        ],
    ),
    ("C++ and C#", ["C++", "C", "and", "C#", "C"]),
    ("https://example.com/a", ["https", "example.com/a", "example.com", "example", "com", "a"]),
    ("end.", ["end"]),
    ("", []),
    ("\u0301 \u200b -- ..", []),
]


@pytest.mark.parametrize(("text", "found"), SEGMENTS)
def test_segments_are_the_words_of_a_text(text: str, found: list[str]) -> None:
    assert [segment.text for segment in segments(text)] == found


def test_a_compound_is_whole_and_its_parts_are_words() -> None:
    kinds = {segment.text: segment.kind for segment in segments("make_release")}
    assert kinds == {"make_release": "whole", "make": "word", "release": "word"}


@given(any_text)
def test_segments_are_bounded_parts_of_the_text(text: str) -> None:
    for segment in segments(text):
        assert segment.text in text
        if segment.kind in ("word", "whole"):
            assert 0 < len(segment.text) <= (MAX_WORD if segment.kind == "word" else MAX_COMPOUND)


LONG = ("a", "aB", "a.", "a'", "a-", "\u0301\u0316", "a\u200b", "a\u0301", "緑", "ภา", "각", "🍵")


@pytest.mark.parametrize("unit", LONG)
def test_a_text_without_spaces_yields_as_many_segments_as_its_length_allows(unit: str) -> None:
    """Twice the text is twice the segments: nothing is cut off, and nothing is repeated."""
    once, twice = (segments(unit * times) for times in (2_000, 4_000))
    in_once, in_twice = (sum(len(each.text) for each in found) for found in (once, twice))
    assert in_twice <= 2 * in_once + 2 * MAX_COMPOUND
    assert in_once <= 3 * len(unit) * 2_000


@given(any_text)
def test_words_do_not_depend_on_what_else_is_in_the_text(text: str) -> None:
    """ASCII texts take another code path."""
    assert words(f"{text} ü") == (*words(text), "ü")


def test_words_are_not_taken_apart() -> None:
    assert words("HTTPServer v2.3 don’t") == ("httpserver", "v2", "3", "don", "t")
