"""The passages of a memory: what is embedded of a long text, and which part of it a hit shows, with
how many words of the query it has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from math import log
from typing import TYPE_CHECKING, Final, NamedTuple

from recollect.core.recall.request import Hit, MatchedWords, Passage
from recollect.core.text.passages import Span, cut_passages
from recollect.core.text.terms import QueryTerms, analyze_fields, find_named_languages, query_forms

if TYPE_CHECKING:
    from recollect.core.memory.memory import Memory
    from recollect.core.recall.space import EmbeddingJob

FIRST_SHARE: Final = 0.3
"""The share of the first passage in the vectors of the others: it says what the text is about.
docs/adr/0047 has the figures."""

SHOWN_TOKENS: Final = 256
"""A text of up to this many tokens is shown whole."""

SHOWN_FILL: Final = 0.8
"""How much of a longer one is shown, as a share of that: more than is embedded, for context."""

MAX_COUNTED: Final = 10_000
"""The number of characters of a memory in which words are counted: a hundred of the longest
memories would take minutes.
"""


class PassageVector(NamedTuple):
    """A passage with its vector in one space."""

    span: Span
    vector: Sequence[float]


def job_passages(job: EmbeddingJob, window: int) -> list[Span]:
    """Return the passages of a job's text that are embedded. A short turn is embedded with the
    turns before it; one of several passages needs none.
    """
    if job.context_at is None:
        return cut_passages(job.text, window)
    own = cut_passages(job.text[: job.context_at], window)
    return own if own[1:] else [Span(0, len(job.text))]


def mix_with_first(vectors: Sequence[Sequence[float]]) -> list[Sequence[float]]:
    """Mix a share of the first passage's vector into each of the others. The dot product with a
    query's vector is then the same mixture of both cosines, up to its length, so recall has nothing
    to look up.
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
    """Return the hits, long ones with the passage that matched."""
    shown: list[Hit] = []
    for hit in hits:
        spans = cut_passages(hit.memory.content, SHOWN_TOKENS, SHOWN_FILL)
        if len(spans) == 1:
            shown.append(hit if hit.passage is None else replace(hit, passage=None))
        elif _is_current(hit):
            shown.append(hit)
        else:
            near = _find_by_meaning(hit, spans)
            span = (
                near if near and _is_by_meaning(hit) else _find_by_words(hit.memory, query, spans)
            )
            shown.append(replace(hit, passage=_to_passage(hit.memory.content, span or near)))
    return shown


def count_matched_words(hit: Hit, query: str) -> Hit:
    """Return the hit with the number of query words in it, for people who ask why it was
    recalled.
    """
    memory = hit.memory
    fields, languages = analyze_fields(
        memory.content[:MAX_COUNTED], memory.expanded_keywords, memory.tags, memory.category
    )
    has = {form for field in fields for forms in field for form in forms}
    asked = query_forms(query, languages)
    matched = sum(not has.isdisjoint(forms) for forms in asked)
    return replace(hit, matched_words=MatchedWords(matched, len(asked)))


def _find_by_words(memory: Memory, query: str, spans: Sequence[Span]) -> Span | None:
    """Return the passage with most of what the query asks for; a word in few passages counts more.
    None if no passage has any.
    """
    terms = QueryTerms(query, memory.content, find_named_languages(memory.tags))
    held = [terms.find_in(memory.content[slice(*span)]) for span in spans]
    having = Counter(chain.from_iterable(held))
    weights = {number: log(1.0 + len(spans) / count) for number, count in having.items()}
    scores = [sum(weights[number] for number in sorted(numbers)) for numbers in held]
    best = max(range(len(scores)), key=lambda number: (scores[number], -number))
    return spans[best] if scores[best] > 0.0 else None


def _find_by_meaning(hit: Hit, spans: Sequence[Span]) -> Span | None:
    """Return the passage that contains most of the part nearest in meaning, if the dense leg found
    this text.
    """
    dense = hit.legs.get("dense")
    if dense is None or dense.passage is None or hit.ranked_as is not None:
        return None
    start, end = dense.passage
    if end > len(hit.memory.content):  # the text changed since the search
        return None
    return max(spans, key=lambda span: min(end, span.end) - max(start, span.start))


def _is_by_meaning(hit: Hit) -> bool:
    """Whether the dense leg says at least as much about a hit as the lexical leg."""
    lexical = hit.legs.get("lexical")
    return lexical is None or lexical.contribution <= hit.legs["dense"].contribution


def _is_current(hit: Hit) -> bool:
    passage = hit.passage
    return passage is not None and hit.memory.content[passage.start : passage.end] == passage.text


def _to_passage(text: str, span: Span | None) -> Passage | None:
    return None if span is None else Passage(text[slice(*span)], span.start, span.end)
