"""The concepts that a text mentions, found without a language model: the nodes of the graph.

These are rules, not grammar (`core/graph/concept_rules.py`), and each is sometimes wrong. That is
acceptable: a concept that only one memory mentions links nothing, one that most of them mention
links everything, and both are left out of walks (`core/graph/walk.py`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from recollect.core.graph.concept_rules import ConceptKind, name_spans, spans
from recollect.core.graph.concept_words import concept_key

__all__ = ["ConceptKind", "Mention", "Relation", "concept_key", "mentions", "relations"]

MAX_KEY_CHARS: Final = 120


@dataclass(frozen=True, slots=True)
class Mention:
    """A concept that a text mentions: the key is the normal form of its spellings, the label is how
    this text writes it.
    """

    key: str
    label: str
    kind: ConceptKind


@dataclass(frozen=True, slots=True)
class Relation:
    """A typed edge from one concept's key to another's."""

    source: str
    relation: str
    target: str


def mentions(
    content: str, *, tags: Collection[str] = (), expanded_keywords: Collection[str] = ()
) -> tuple[Mention, ...]:
    """Return the concepts that a memory mentions, each once, in the order of the text; then its
    tags and keywords.
    """
    labels: list[tuple[str, ConceptKind]] = [
        (span.label, span.kind)
        for span in sorted(spans(content), key=lambda span: (span.start, -span.end))
    ]
    labels += [(tag, "tag") for tag in tags]
    labels += [(keyword, "keyword") for keyword in expanded_keywords]
    found: dict[str, Mention] = {}
    for label, kind in labels:
        key = concept_key(label)
        if 1 < len(key) <= MAX_KEY_CHARS:
            found.setdefault(key, Mention(key, label.strip(), kind))
    return tuple(found.values())


# If only these words are between two names, they state a relation. The name on the left is the
# edge's source.
_STATED: Final[tuple[tuple[str, str], ...]] = (
    (r"(?:works?|worked|is working) (?:at|for)", "works at"),
    (r"(?:lives?|lived|is living|resides?) in", "lives in"),
    (r"(?:moved|relocated) to", "lives in"),
    (r"(?:was |is )?born (?:in|at)", "born in"),
    (r"died (?:in|at)", "died in"),
    (r"(?:is|was) (?:based|located|situated|headquartered) (?:in|at)", "located in"),
    (r"(?:is|was) (?:the )?capital(?: city)? of", "capital of"),
    (
        r"(?:is|was) (?:a |the )?(?:part|member|district|suburb|city|town|village) (?:of|in)",
        "part of",
    ),
    (r"(?:is|was) (?:married to|the (?:wife|husband) of)|married", "married to"),
    (r"(?:is|was) (?:a |the |his |her )?(?:son|daughter|child) of", "child of"),
    (r"(?:is|was) (?:a |the )?(?:father|mother|parent) of", "parent of"),
    (r"(?:is|was) (?:a |the )?(?:brother|sister|sibling) of", "sibling of"),
    (
        r"(?:is |was |were )?(?:an? (?:film|play|series) )?(?:directed|filmed) by",
        "directed by",
    ),
    (
        r"(?:is |was |were )?(?:an? (?:song|novel|book|album) )?(?:written|composed) by",
        "written by",
    ),
    (r"(?:is |was |were )?(?:founded|created|established|started) by", "founded by"),
    (r"(?:is |was |were )?(?:performed|recorded|sung) by", "performed by"),
    (r"(?:is |was |were )?(?:produced|released|published) by", "published by"),
    (r"(?:is|was|were) (?:owned|acquired|bought) by", "owned by"),
    (r"(?:uses?|is using|runs on)", "uses"),
    (r"(?:depends? on|requires?|needs)", "depends on"),
    (r"(?:replaces?|replaced|supersedes?)", "replaces"),
    (r"(?:is|was) (?:called|also known as|known as)", "known as"),
)
_RELATIONS: Final = tuple(
    (
        re.compile(
            rf"\s*(?:\([^()]*\))?,?\s*(?:also |now |currently )?{words},?(?: the| a| an)?\s*"
        ),
        name,
    )
    for words, name in _STATED
)


def relations(content: str) -> tuple[Relation, ...]:
    """Return the relations between names that a text states plainly, each once, in order."""
    found: dict[Relation, None] = {}
    for (start, end), (following, last) in pairwise(name_spans(content)):
        between = content[end:following]
        if len(between) > 80:
            continue
        for pattern, name in _RELATIONS:
            if pattern.fullmatch(between):
                source, target = (
                    concept_key(content[start:end]),
                    concept_key(content[following:last]),
                )
                if source and target and source != target:
                    found.setdefault(Relation(source, name, target))
                break
    return tuple(found)
