"""What is extracted from a memory for the concept graph, and by which reader.

Every reader (the rules of `core/graph/concepts.py`, a language model, a person's own file) returns
the same: the mentioned concepts and the stated relationships. What a better reader has read is not
read again by a lesser one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from recollect.core.graph.concepts import Mention, concept_key, mentions, relations

# The level of the reader of a memory: the higher, the better; 0 if it was not read. A reader whose
# results change increments its level, and memories are read again.
BY_RULES: Final = 1
BY_MODEL: Final = 1_000
BY_IMPORT: Final = 2_000

MAX_KEY: Final = 200
MAX_RELATION: Final = 100
MAX_FACTS: Final = 500

# Relations that have one target at a time: a new statement ends the one before. They are relations
# of the rules of core/graph/concepts.py, and the names that language models give them.
SINGLE_VALUED: Final = frozenset(
    {
        "works at",
        "works for",
        "employed by",
        "lives in",
        "resides in",
        "located in",
        "based in",
        "headquartered in",
        "owned by",
        "married to",
        "reports to",
        "managed by",
        "led by",
        "current editor is",
        "current version",
        "has status",
        "status",
        "deadline",
        "hosted on",
        "runs on",
    }
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A stated relationship between two keys. If the text does not say since when it is true, it is
    true since it was stated.
    """

    source: str
    relation: str
    target: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """What one memory says. Every key of a fact is mentioned too."""

    mentions: tuple[Mention, ...] = ()
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class ExtractionJob:
    """A memory to read. The ticket changes with the text, so that what was found in an older text
    is recognised and dropped.
    """

    memory_id: UUID
    owner: str
    ticket: str
    content: str
    tags: tuple[str, ...]
    expanded_keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadTexts:
    """A language model's answers about texts, by the text's position, as plain JSON that can be
    stored; and the tokens that they took.
    """

    answers: dict[int, object]
    tokens: int = 0


def read_by_rules(job: ExtractionJob) -> Extraction:
    """Return what a memory says, without a language model."""
    found = mentions(job.content, tags=job.tags, expanded_keywords=job.expanded_keywords)
    return join_extraction(
        found, tuple(Fact(r.source, r.relation, r.target) for r in relations(job.content))
    )


def join_extraction(found: tuple[Mention, ...], facts: tuple[Fact, ...]) -> Extraction:
    """Select the mentions and facts that can be stored: with keys of a storable length, each once,
    and every key of a fact among the mentions.
    """
    by_key = {mention.key: mention for mention in found if 0 < len(mention.key) <= MAX_KEY}
    kept = tuple(
        dict.fromkeys(
            fact
            for fact in facts
            if fact.source in by_key
            and fact.target in by_key
            and fact.source != fact.target
            and 0 < len(fact.relation) <= MAX_RELATION
        )
    )
    return Extraction(tuple(by_key.values()), kept[:MAX_FACTS])


def to_mention(label: str) -> Mention | None:
    """Return a concept with this name; None if nothing is left of the name."""
    tidy = " ".join(label.split())[:MAX_KEY]
    key = concept_key(tidy)
    return Mention(key, tidy, "name") if key else None


def tidy_relation(text: str) -> str:
    """Normalise the spelling of a relation."""
    return " ".join(text.replace("_", " ").casefold().split())


def is_single_valued(relation: str) -> bool:
    return relation in SINGLE_VALUED
