"""Cutting texts into passages, whatever they contain."""

from __future__ import annotations

import itertools
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.core.text.passages import Span, cut_passages, estimate_tokens

WINDOW = 256


def check(text: str, window: int = WINDOW) -> list[Span]:
    """Return the passages after checking that they cover the text in order and fit the window."""
    spans = cut_passages(text, window)
    assert spans[0].start == 0
    assert spans[-1].end == len(text)
    for one, following in itertools.pairwise(spans):
        assert one.start < following.start <= one.end < following.end
    if spans[1:]:
        assert max(estimate_tokens(text[slice(*span)]) for span in spans) <= window
    return spans


def test_a_text_that_fits_is_one_passage() -> None:
    text = "Deployments go out with make release. " * 20
    assert check(text) == [Span(0, len(text))]
    assert check("") == [Span(0, 0)]


SENTENCES = {
    "English": "The ferry to Marblehead leaves at nine on Tuesdays. ",
    "German": "Die Fähre fährt dienstags um neun Uhr ab. ",
    "Russian": "Паром отправляется по вторникам в девять часов. ",
    "Arabic": "هل تغادر العبارة يوم الثلاثاء؟ ",
    "Hindi": "नाव मंगलवार को नौ बजे चलती है। ",
    "Chinese": "渡轮每周二上午九点出发。",
    "Japanese": "フェリーは火曜日の九時に出ます。",
    "lines": "- the ferry leaves at nine\n",
}


@pytest.mark.parametrize("sentence", SENTENCES.values(), ids=SENTENCES.keys())
def test_passages_begin_and_end_with_sentences_and_overlap(sentence: str) -> None:
    text = sentence * 200
    spans = check(text, 4 * WINDOW)  # the overlap has room for any of these sentences
    assert len(spans) > 3
    assert all(start % len(sentence) == 0 and end % len(sentence) == 0 for start, end in spans)
    assert all(a.end - b.start >= len(sentence) for a, b in itertools.pairwise(spans))


def test_dots_in_names_and_numbers_end_no_sentence() -> None:
    sentence = "Version 2.3.1 of recollect.core reads settings.toml at 10.5 percent\n"
    spans = check(sentence * 100)
    assert all(start % len(sentence) == 0 for start, _ in spans)


HOSTILE = {
    "a megabyte without spaces": "a" * 1_000_000,
    "Chinese without marks": "漢字" * 100_000,
    "marks on one letter": "e" + "\u0301" * 200_000,
    "dots": "." * 1_000_000,
    "quotes after dots": '."' * 200_000,
    "line breaks": "\n" * 1_000_000,
    "spaces": " " * 1_000_000,
    "halves of surrogate pairs": "\ud800" * 200_000,
    "zero-width joiners": "\u200d" * 200_000,
    "right-to-left marks": "a\u200f " * 100_000,
    "every character": "".join(map(chr, range(0, sys.maxunicode + 1, 7))),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_texts_are_cut_as_well(text: str) -> None:
    assert len(check(text)) > 1


def test_a_mark_stays_with_its_letter() -> None:
    text = "e\u0301" * 20_000
    for start, _ in check(text):
        assert not unicodedata.combining(text[start])


@given(st.text(), st.integers(1, 40))
def test_any_text_is_covered_whatever_the_window(text: str, window: int) -> None:
    spans = cut_passages(text, window)
    assert spans[0].start == 0
    assert spans[-1].end == len(text)
    assert all(a.start < b.start <= a.end < b.end for a, b in itertools.pairwise(spans))
