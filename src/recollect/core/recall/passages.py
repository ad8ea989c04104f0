"""The passages of a memory: what is embedded of a long text, and which part of it a hit shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log
from typing import TYPE_CHECKING, Final, NamedTuple

from recollect.core.recall.request import Hit, Passage
from recollect.core.text.analysis import query_words
from recollect.core.text.passages import Span, cut_passages

if TYPE_CHECKING:
    from recollect.core.recall.space import EmbeddingJob

FIRST_SHARE: Final = 0.3
"""How much of the first passage is in the vectors of the others: it says what the text is about.
docs/adr/0047 has the figures."""

SHOWN_TOKENS: Final = 256
"""Tokens of the passage that is shown of a text found by words; a shorter text is shown whole."""

_SHORT_WORD: Final = 4


class PassageVector(NamedTuple):
    """A passage with its vector in one space."""

    span: Span
    vector: Sequence[float]


def job_passages(job: EmbeddingJob, window: int) -> list[Span]:
    """What is embedded of a job's text. The turns before a turn are embedded with it if it is
    short; one of several passages needs none.
    """
    if job.context_at is None:
        return cut_passages(job.text, window)
    own = cut_passages(job.text[: job.context_at], window)
    return own if own[1:] else [Span(0, len(job.text))]


def in_context(vectors: Sequence[Sequence[float]]) -> list[Sequence[float]]:
    """The vectors of a text's passages, each with its share of the first. The dot product with a
    query's vector is then the same mixture of both cosines, up to its length: nothing has to be
    looked up at recall.
    """
    first = vectors[0]
    return [
        first,
        *(
            [
                (1.0 - FIRST_SHARE) * own + FIRST_SHARE * shared
                for own, shared in zip(vector, first, strict=True)
            ]
            for vector in vectors[1:]
        ),
    ]


def show_passages(hits: Sequence[Hit], query: str) -> list[Hit]:
    """The hits, long ones with the passage that matched."""
    words: tuple[str, ...] | None = None
    shown: list[Hit] = []
    for hit in hits:
        spans = cut_passages(hit.memory.content, SHOWN_TOKENS)
        if len(spans) == 1:
            shown.append(hit if hit.passage is None else replace(hit, passage=None))
        elif _is_current(hit):
            shown.append(hit)
        else:
            words = query_words(query) if words is None else words
            span = _nearest(hit) or find_words(hit.memory.content, words, spans)
            shown.append(replace(hit, passage=_to_passage(hit.memory.content, span)))
    return shown


def find_words(text: str, words: Sequence[str], spans: Sequence[Span]) -> Span | None:
    """The passage with most of the words; one that few passages have counts more. Endings are
    ignored. None if no passage has any.
    """
    parts = [text[slice(*span)].lower() for span in spans]
    scores = [0.0] * len(parts)
    for word in words:
        stem = word if len(word) <= _SHORT_WORD else word[: max(_SHORT_WORD, len(word) - 3)]
        having = [number for number, part in enumerate(parts) if stem in part]
        for number in having:
            scores[number] += log(1.0 + len(parts) / len(having))
    best = max(range(len(scores)), key=lambda number: (scores[number], -number))
    return spans[best] if scores[best] > 0.0 else None


def _nearest(hit: Hit) -> Span | None:
    """The passage nearest in meaning, if meaning says more about the hit than words do."""
    dense, lexical = hit.legs.get("dense"), hit.legs.get("lexical")
    if dense is None or dense.passage is None or hit.ranked_as is not None:
        return None
    if lexical is not None and lexical.contribution > dense.contribution:
        return None
    # The text may have changed since it was searched.
    return dense.passage if dense.passage.end <= len(hit.memory.content) else None


def _is_current(hit: Hit) -> bool:
    passage = hit.passage
    return passage is not None and hit.memory.content[passage.start : passage.end] == passage.text


def _to_passage(text: str, span: Span | None) -> Passage | None:
    return None if span is None else Passage(text[slice(*span)], span.start, span.end)
