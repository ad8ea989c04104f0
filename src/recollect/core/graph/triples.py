"""What a language model says about a text, validated.

A model's answer is untrusted: it may be malformed, huge, about another memory, or dictated by the
author of the memory. So only what has the requested form is used, in limited amounts, and only
names that are in the text itself: no answer can connect a memory with what it does not mention.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from recollect.core.graph.concepts import Mention, concept_key
from recollect.core.graph.extraction import (
    MAX_KEY,
    MAX_RELATION,
    Extraction,
    ExtractionJob,
    Fact,
    join_extraction,
    read_by_rules,
    tidy_relation,
    to_mention,
)

MAX_TRIPLES: Final = 60
"""Per text. Language models find about nine in a paragraph (docs/graph.md)."""

_WORD: Final = re.compile(r"\w+")
_DATE: Final = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")

SCHEMA: Final[dict[str, object]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["memories"],
    "properties": {
        "memories": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["id", "triples"],
                "properties": {
                    "id": {"type": "string"},
                    "triples": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["subject", "relation", "object", "since", "until"],
                            "properties": {
                                "subject": {"type": "string"},
                                "relation": {"type": "string"},
                                "object": {"type": "string"},
                                "since": {"type": ["string", "null"]},
                                "until": {"type": ["string", "null"]},
                            },
                        },
                    },
                },
            },
        }
    },
}


def split_by_tag(answer: object, tags: Sequence[str]) -> dict[int, object]:
    """Return the part of an answer for each text, by the text's position. Only tags that were sent
    count, and of a repeated tag only the first.
    """
    places = {tag: place for place, tag in enumerate(tags)}
    found: dict[int, object] = {}
    listed = answer.get("memories") if isinstance(answer, Mapping) else None
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, Mapping) and isinstance(entry.get("triples"), list):
            place = places.get(entry["id"]) if isinstance(entry.get("id"), str) else None
            if place is not None:
                found.setdefault(place, _limit_triples(entry["triples"]))
    return found


def extraction_of(job: ExtractionJob, triples: object) -> Extraction:
    """Return what the rules and a language model together say about a memory."""
    by_rules = read_by_rules(job)
    words = _words(" ".join((job.content, *job.tags, *job.expanded_keywords)))
    mentions: list[Mention] = [*by_rules.mentions]
    facts: list[Fact] = [*by_rules.facts]
    for entry in triples if isinstance(triples, list) else ():
        if (read := _triple(entry, words)) is not None:
            source, target, fact = read
            mentions += (source, target)
            facts.append(fact)
    first: dict[str, Mention] = {}
    for mention in mentions:
        first.setdefault(mention.key, mention)
    return join_extraction(tuple(first.values()), tuple(facts))


def _triple(entry: object, words: set[str]) -> tuple[Mention, Mention, Fact] | None:
    if not isinstance(entry, Mapping):
        return None
    subject, relation, object_ = (entry.get(part) for part in ("subject", "relation", "object"))
    if not (isinstance(subject, str) and isinstance(relation, str) and isinstance(object_, str)):
        return None
    source, target, name = to_mention(subject), to_mention(object_), tidy_relation(relation)
    if source is None or target is None or not name or len(name) > MAX_RELATION:
        return None
    if not (_words(subject) & words and _words(object_) & words):
        return None
    since, until = _moment(entry.get("since")), _moment(entry.get("until"))
    return source, target, Fact(source.key, name, target.key, since, until)


def _limit_triples(triples: Sequence[object]) -> list[object]:
    """Return what is stored of an answer: short texts, and not too many of them."""
    kept: list[object] = []
    for entry in triples[:MAX_TRIPLES]:
        if isinstance(entry, Mapping):
            fields = ("subject", "relation", "object", "since", "until")
            texts = {name: entry[name] for name in fields if isinstance(entry.get(name), str)}
            if all(0 < len(text) <= MAX_KEY and "\0" not in text for text in texts.values()):
                kept.append(texts)
    return kept


def _words(text: str) -> set[str]:
    return {
        word for part in _WORD.findall(text) for word in concept_key(part).split() if len(word) > 1
    }


def _moment(text: object) -> datetime | None:
    """Parse a year, a month or a day; None for anything else."""
    read = _DATE.fullmatch(text.strip()) if isinstance(text, str) else None
    if read is None:
        return None
    try:
        return datetime(int(read[1]), int(read[2] or 1), int(read[3] or 1), tzinfo=UTC)
    except ValueError:
        return None
