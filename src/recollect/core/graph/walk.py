"""Where a walk over the concept graph begins, when it has anything to say, and what it may find.

Personalised PageRank whose restart vector holds the fused scores: mass starts on the memories that
the legs found and on the concepts that the query names, and walks from memory to concept to
memory. What it gathers is the new order. The graph's weight w decides how far that may leave the
fused order: at each step the share w / (1 + w) walks on, so that 0 is the fused order itself.
How this was chosen, and what else was tried: docs/adr/0024.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from recollect.core.graph.concept_rules import spans
from recollect.core.graph.concept_words import concept_key
from recollect.core.recall.fusion import Fused

if TYPE_CHECKING:
    from recollect.core.memory.memory import Memory
    from recollect.core.recall.context import RecallContext

# How much of the restart mass lies on the memories for 1 on a concept that only one memory
# mentions and the query names.
MEMORY_MASS: Final = 3.0
# What links memories: a concept that at least two of them mention, and no more than these. More
# would make it a hub that leads everywhere.
MIN_MEMORIES: Final = 2
MAX_MEMORIES: Final = 40
# A phrase is a concept to look up, but walked over it led away from the answer as often as to it.
UNWALKED_KINDS: Final = frozenset({"phrase"})
# What a relationship weighs beside mentions, which share out a memory's weight of 1.
RELATIONSHIP_WEIGHT: Final = 0.1
# How many times its weight a graph has that a language model has read: it names what rules over
# capitals cannot see, and what it joins is meant. So 1.5 counts for 4, a damping of .8.
MODEL_TRUST: Final = 8 / 3


@dataclass(frozen=True, slots=True)
class Named:
    """What a query names. `is_telling`: the graph is asked only for a query that names at least
    one thing for certain. A year is none, nor is a word whose capital only opens the query.
    """

    keys: tuple[str, ...]
    is_telling: bool


@dataclass(frozen=True, slots=True)
class Walked:
    """A memory that the walk came to. The path leads from a memory that a leg found, or from the
    query itself where it is empty at the beginning, to this one: ids of memories and names of
    concepts by turns. One that is not `is_known` is not in the graph: it mentions no concept, is
    sensitive, or is not read yet. No walk comes to it, but what it began with stays on it.
    """

    id: UUID
    score: float
    path: tuple[str, ...] = ()
    is_known: bool = True


def find_names(query: str) -> Named:
    """The concepts that a query names, by their keys."""
    keys: dict[str, None] = {}
    telling = False
    for span in spans(query):
        if span.kind in UNWALKED_KINDS or len(key := concept_key(span.label)) < 2:
            continue
        keys.setdefault(key)
        # A capital that opens a sentence says nothing; a query of one word is no sentence.
        opens = not _has_words(query[: span.start]) and _has_words(query[span.end :])
        is_plain = opens and span.kind == "name" and span.label[1:].islower()
        telling = telling or (span.kind != "year" and not (is_plain and " " not in span.label))
    return Named(tuple(keys), telling)


def _has_words(text: str) -> bool:
    return any(character.isalnum() for character in text)


def damping(weight: float, by_model: float = 0.0) -> float:
    """The share of the mass that walks on at each step. `by_model` is the share of the memories
    that a language model has read.
    """
    trusted = weight * (1.0 + (MODEL_TRUST - 1.0) * by_model)
    return trusted / (1.0 + trusted)


def restart(fused: Sequence[Fused]) -> dict[UUID, float]:
    """The mass that memories begin with: squares of what their fused scores have above the floor,
    so that a sure hit weighs more than many alike. The floor is an average step below the least
    score: the last hit was found, too, and begins with something.
    """
    if not fused:
        return {}
    scores = [entry.score for entry in fused]
    step = (max(scores) - min(scores)) / len(scores)
    floor = min(scores) - step
    squares = {entry.candidate.id: (entry.score - floor) ** 2 for entry in fused}
    total = sum(squares.values())
    if total <= 0.0:
        return dict.fromkeys(squares, MEMORY_MASS / len(squares))
    return {id: MEMORY_MASS * square / total for id, square in squares.items()}


def can_join(context: RecallContext, memory: Memory) -> bool:
    """Whether a memory that only the graph found may be recalled: the graph that was walked may be
    older than the memory's present state, and knows of no scope.
    """
    as_of = context.request.as_of
    return (
        not memory.is_sensitive
        and context.may_show(memory)
        and (as_of is None or memory.created_at <= as_of)
    )
