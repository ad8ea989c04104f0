"""What is read out of a memory for the concept graph, and by whom.

Whoever reads it (the rules of `core/graph/concepts.py`, a language model, a person's own file) says
the same thing in the end: which concepts are mentioned, and which relationships are stated. What
was read by a better reader is not read again by a lesser one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from recollect.core.graph.concepts import Mention, concept_key, mentions, relations

# Who read a memory, as a number that grows with what it is worth; 0 is no one. A reader that reads
# otherwise than before counts up within its hundreds, and memories are read again.
BY_RULES: Final = 1
BY_MODEL: Final = 1_000
BY_IMPORT: Final = 2_000

MAX_KEY: Final = 200
MAX_RELATION: Final = 100
MAX_FACTS: Final = 500

# Relations of which only one holds at a time: a new statement ends the one before. Those that the
# rules of core/graph/concepts.py state, and what language models call the same.
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
    """A stated relationship between two keys. Where the text does not say since when it holds, it
    holds since it was said.
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
    """A memory that is to be read. The ticket changes with what is read, so that what was found in
    an older text is recognised and dropped.
    """

    memory_id: UUID
    owner: str
    ticket: str
    content: str
    tags: tuple[str, ...]
    expanded_keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadTexts:
    """A language model's answer: what it said of each text, by the text's place, as plain JSON that
    can be kept; and the tokens that it took.
    """

    answers: dict[int, object]
    tokens: int = 0


def read_by_rules(job: ExtractionJob) -> Extraction:
    """What a memory says, without a language model."""
    found = mentions(job.content, tags=job.tags, expanded_keywords=job.expanded_keywords)
    return join_extraction(
        found, tuple(Fact(r.source, r.relation, r.target) for r in relations(job.content))
    )


def join_extraction(found: tuple[Mention, ...], facts: tuple[Fact, ...]) -> Extraction:
    """Mentions and facts as they can be stored: keys of a storable length, each once, and every
    key of a fact among the mentions.
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
    """A concept with this name; None when nothing is left of the name."""
    tidy = " ".join(label.split())[:MAX_KEY]
    key = concept_key(tidy)
    return Mention(key, tidy, "name") if key else None


def tidy_relation(text: str) -> str:
    """A relation as it is stored: one spelling of it."""
    return " ".join(text.replace("_", " ").casefold().split())


def is_single_valued(relation: str) -> bool:
    return relation in SINGLE_VALUED
