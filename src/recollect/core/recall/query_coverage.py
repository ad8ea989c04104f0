"""How many words of a query a memory has, for people who ask why it was recalled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from recollect.core.text.terms import analyze_fields, query_forms

if TYPE_CHECKING:
    from recollect.core.memory.memory import Memory


MAX_CHARS: Final = 10_000
"""Of a memory's content: a hundred hits of the longest kind would take minutes."""


class QueryCoverage(NamedTuple):
    """`matched` of the `asked` words, in any of their forms and without stop words."""

    matched: int
    asked: int


def query_coverage(query: str, memory: Memory) -> QueryCoverage:
    fields, languages = analyze_fields(
        memory.content[:MAX_CHARS], memory.expanded_keywords, memory.tags, memory.category
    )
    has = {form for field in fields for forms in field for form in forms}
    asked = query_forms(query, languages)
    return QueryCoverage(sum(not has.isdisjoint(forms) for forms in asked), len(asked))
