"""The search terms of a memory, as columns of its row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from recollect.core.memory.memory import Memory
from recollect.core.text.terms import MAX_POSITIONS, VERSION, Analyzed, analyze_fields

# The limit of Postgres: all later words of a text have the last position.
_MAX_POSITION: Final = 16_383


def analyze_memory(memory: Memory) -> dict[str, Any]:
    return analyze_columns(memory.content, memory.expanded_keywords, memory.tags, memory.category)


def analyze_columns(
    content: str, expanded_keywords: Iterable[str], tags: Iterable[str], category: str
) -> dict[str, Any]:
    terms = analyze_fields(content, expanded_keywords, tags, category)
    return {
        "search_vector": as_vector(terms),
        "languages": " ".join(terms.languages),
        "analyzer": VERSION,
    }


def quote(lexeme: str) -> str:
    """Quote a lexeme for a `tsvector` or `tsquery`, so that no character is an operator."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def as_vector(terms: Analyzed) -> str:
    """Return the text of a `tsvector`: the fields follow each other, each with its own weight
    class.
    """
    positions: dict[str, list[str]] = {}
    place = 0
    for weight, field in zip("ABCD", terms.fields, strict=True):
        for forms in field:
            place = min(place + 1, _MAX_POSITION)
            entry = f"{place}{weight}"
            for form in forms:
                places = positions.setdefault(form, [])
                if len(places) < MAX_POSITIONS:
                    places.append(entry)
    return " ".join(f"{quote(form)}:{','.join(places)}" for form, places in positions.items())
