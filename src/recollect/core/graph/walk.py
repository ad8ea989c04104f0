"""Where a walk over the concept graph starts, when it runs, and what it may find.

Personalised PageRank whose restart vector holds the fused scores: mass starts on the memories that
the legs found and on the concepts that the query names, and walks from memory to concept to memory.
The mass that memories end up with is the new order. The graph's weight w decides how far that may
differ from the fused order: at each step the share w / (1 + w) walks on, so that with 0 the fused
order stays. How this was chosen, and what else was tried: docs/adr/0024.
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

# The restart mass on the memories, if a concept that the query names and only one memory mentions
# has 1.
MEMORY_MASS: Final = 3.0
# A concept links memories if at least two and at most this many mention it. More would make it a
# hub that leads everywhere.
MIN_MEMORIES: Final = 2
MAX_MEMORIES: Final = 40
# A phrase is a concept to look up, but walking over it led away from the answer as often as towards
# it.
UNWALKED_KINDS: Final = frozenset({"phrase"})
# The weight of a relationship compared with mentions, which share a memory's weight of 1.
RELATIONSHIP_WEIGHT: Final = 0.1
# The factor for the weight of a graph that a language model has read: it names what rules over
# capitals cannot see, and what it connects belongs together. So 1.5 counts as 4, a damping of .8.
MODEL_TRUST: Final = 8 / 3


@dataclass(frozen=True, slots=True)
class Named:
    """What a query names. `is_telling`: the query certainly names something; the graph leg runs
    only then. A year does not count, nor does a word that is only capitalised because it opens the
    query.
    """

    keys: tuple[str, ...]
    is_telling: bool


@dataclass(frozen=True, slots=True)
class Walked:
    """A memory that the walk reached. The path leads to it from a memory that a leg found, or, if
    it begins with an empty text, from the query itself: ids of memories and names of concepts in
    turn. A memory without `is_known` is not in the graph: it mentions no concept, is sensitive, or
    is not read yet. No walk reaches it, but it keeps its initial mass.
    """

    id: UUID
    score: float
    path: tuple[str, ...] = ()
    is_known: bool = True


def find_names(query: str) -> Named:
    """Return the concepts that a query names, by their keys."""
    keys: dict[str, None] = {}
    telling = False
    for span in spans(query):
        if span.kind in UNWALKED_KINDS or len(key := concept_key(span.label)) < 2:
            continue
        keys.setdefault(key)
        # The capital that opens a sentence means nothing; a query of one word is no sentence.
        opens = not _has_words(query[: span.start]) and _has_words(query[span.end :])
        is_plain = opens and span.kind == "name" and span.label[1:].islower()
        telling = telling or (span.kind != "year" and not (is_plain and " " not in span.label))
    return Named(tuple(keys), telling)


def _has_words(text: str) -> bool:
    return any(character.isalnum() for character in text)


def damping(weight: float, by_model: float = 0.0) -> float:
    """Return the share of the mass that walks on at each step. `by_model` is the share of the
    memories that a language model has read.
    """
    trusted = weight * (1.0 + (MODEL_TRUST - 1.0) * by_model)
    return trusted / (1.0 + trusted)


def restart(fused: Sequence[Fused]) -> dict[UUID, float]:
    """Return the initial mass of memories: the squares of their fused scores above the floor, so
    that a sure hit weighs more than many similar ones. The floor is an average step below the
    lowest score: the last hit was found, too, and gets some mass.
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
    older than the memory's present state, and ignores the scope.
    """
    as_of = context.request.as_of
    return (
        not memory.is_sensitive
        and context.may_show(memory)
        and (as_of is None or memory.created_at <= as_of)
    )
