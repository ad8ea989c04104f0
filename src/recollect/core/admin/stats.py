"""What an owner has stored, and how far the work on it is, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a command on the local store has neither
    from recollect.core.graph.model import ExtractionProgress
    from recollect.core.recall.space import EmbeddingStats


@dataclass(frozen=True, slots=True)
class CurationCounts:
    """`undecided` proposals, and those that the curator `applied` by itself and no one undid."""

    undecided: int = 0
    applied: int = 0


@dataclass(frozen=True, slots=True)
class Stats:
    """What an owner has stored, in numbers. A memory in two languages counts for both. `expiring`:
    how many expire within a week. `former_names`: which project each former name means now.
    """

    memories: int
    forgotten: int
    sensitive: int
    by_category: dict[str, int] = field(default_factory=dict)
    by_project: dict[str, int] = field(default_factory=dict)
    by_language: dict[str, int] = field(default_factory=dict)
    expiring: int = 0
    embedding: EmbeddingStats | None = None
    graph: ExtractionProgress | None = None
    curation: CurationCounts | None = None
    former_names: Mapping[str, str] = field(default_factory=dict)


def count_languages(by_languages: Mapping[str, int]) -> dict[str, int]:
    """Count the memories of each language, most first. Stores keep the languages of a memory as one
    text, separated by spaces.
    """
    counts: Counter[str] = Counter()
    for languages, memories in by_languages.items():
        for language in languages.split():
            counts[language] += memories
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


@dataclass(frozen=True, slots=True)
class Load:
    """What a server has to do. `memories` is an estimate; `queues` has, for each queue, how many
    jobs wait and how many are parked after too many failures.
    """

    memories: int
    queues: Mapping[str, tuple[int, int]]
    connections_in_use: int
    connections_idle: int
