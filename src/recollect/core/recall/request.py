"""What a recall asks, what a leg answers, and the explanation of each hit.

A hook imports this before every prompt, and a dataclass takes several times as long to define as a
named tuple.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal, NamedTuple
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.memory.links import Pointer
from recollect.core.memory.memory import EVERYWHERE, Memory, Scope, check_moment, clean_scope
from recollect.core.text.analysis import clean_query
from recollect.core.text.passages import Span

LegName = Literal["lexical", "dense", "graph"]
LEGS: Final[tuple[LegName, ...]] = ("lexical", "dense", "graph")
SortBy = Literal["relevance", "importance", "recency"]
ORDERS: Final[tuple[SortBy, ...]] = ("relevance", "importance", "recency")
MAX_WEIGHT: Final = 5.0
MAX_LIMIT: Final = 100
UNKNOWN_EVIDENCE: Final = 0.5
"""The evidence of a cosine that cannot be measured yet: enough to be a hit, too little for
a hook."""

# ran: it answered; skipped: its weight is 0, or the query is not for it; absent: there is nothing
# that it could search; failed: it raised; late: it missed the deadline.
LegStatus = Literal["ran", "skipped", "absent", "failed", "late"]
Stage = Literal["late", "cross-encoder"]
StageStatus = Literal["ran", "skipped", "absent", "failed", "late"]


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A question to the memory. `expanded_query` adds words for the lexical leg; `weights` override
    the settings for this recall; `exclude` names memories already in the prompt. The text of a
    sensitive query is not sent to a model on another machine. `as_of` recalls what was known at
    that moment, as it was worded then. `counts_words`: each hit has the number of query words in
    it.

    Always valid: creating it cleans the texts, trims the scope's names and converts times to UTC,
    or raises InvalidInput.
    """

    query: str
    expanded_query: str = ""
    limit: int = 10
    sort_by: SortBy = "relevance"
    scope: Scope = EVERYWHERE
    exclude: frozenset[UUID] = frozenset()
    weights: Mapping[LegName, float] = field(default_factory=dict)
    is_sensitive: bool = False
    as_of: datetime | None = None
    counts_words: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MAX_LIMIT:
            raise InvalidInput(
                f"limit {self.limit} is outside 1..{MAX_LIMIT}",
                field="limit",
                remedy=f"Ask for 1 to {MAX_LIMIT} hits.",
            )
        if self.sort_by not in ORDERS:
            raise InvalidInput(
                f"there is no order called {str(self.sort_by)[:60]!r}",
                field="sort_by",
                remedy=f"Choose one of: {', '.join(ORDERS)}.",
            )
        for leg, weight in self.weights.items():
            check_weight(leg, weight)
        tidy = {
            "query": clean_query(self.query),
            "expanded_query": clean_query(self.expanded_query),
            "scope": replace(clean_scope(self.scope), forgotten=False, valid_at=None),
            "as_of": check_moment(self.as_of, "as_of"),
        }
        for name, value in tidy.items():
            object.__setattr__(self, name, value)

    @property
    def must_stay(self) -> bool:
        """Whether its text must stay on this machine: the caller says so, or it looks sensitive."""
        # Imported late: a hook that asks only the local store has no time to compile the patterns.
        from recollect.core.privacy.secrets.detect import looks_sensitive

        text = f"{self.query}\n{self.expanded_query}"
        return self.is_sensitive or looks_sensitive(text) is not None


def check_weight(leg: str, weight: float) -> None:
    if leg not in LEGS:
        raise InvalidInput(
            f"there is no leg named {leg[:60]!r}",
            field="weights",
            remedy=f"Choose one of: {', '.join(LEGS)}.",
        )
    if not 0.0 <= weight <= MAX_WEIGHT:
        raise InvalidInput(
            f"weight {weight} of the {leg} leg is outside 0..{MAX_WEIGHT:g}",
            field=f"{leg}_weight",
            remedy=f"Give a number from 0 (the leg is not run) to {MAX_WEIGHT:g}.",
        )


class Candidate(NamedTuple):
    """One row of a leg's ordered answer, with what ranking needs to know about the memory. A tuple:
    a recall creates hundreds, and a dataclass takes three times as long.

    A score is comparable only within its list. `evidence` says on a scale from 0 to 1 how much the
    match means, whatever else was found: the share of the query's information that the memory's
    words carry, or how far its cosine is above that of unrelated texts. A leg that cannot measure
    it leaves it at 1. `trust` is the share of the leg's weight that counts: less than 1 if the leg
    knows little about this kind of query; with 0 it takes part only if no other leg found anything
    relevant. `passage` is the part of a long text that matched.

    The rest is for legs of the second phase: `path` is what led to the memory; a memory without
    `is_ranked` is unknown to the leg, which leaves it about where it was.
    """

    id: UUID
    score: float
    importance: float
    created_at: datetime
    evidence: float = 1.0
    path: tuple[str, ...] = ()
    is_ranked: bool = True
    trust: float = 1.0
    passage: Span | None = None


# Why a leg has no answer although nothing is wrong; each has its remedy (`explain_legs.py`).
Reason = Literal[
    "past",
    "sensitive_query",
    "unsent",
    "nothing_embedded",
    "other_order",
    "nothing_found",
    "no_concept",
    "unknown_concept",
    "being_read",
]


class Declined(NamedTuple):
    """The answer of a leg that has none although nothing is wrong, with the reason for people."""

    status: Literal["absent", "skipped"]
    note: str
    reason: Reason | None = None


class LegPlace(NamedTuple):
    """Where one leg placed a memory, and what that added to its fused score. The path is the
    graph's: what led from a memory that was found, or from the query, to this one. Without a rank,
    the leg did not reach the memory, and `contribution` is what that cost. `evidence` and `passage`
    are the candidate's.
    """

    rank: int | None
    score: float
    contribution: float
    path: tuple[str, ...] = ()
    evidence: float = 1.0
    passage: Span | None = None


class LegReport(NamedTuple):
    """The outcome of one leg in this recall."""

    status: LegStatus
    weight: float
    found: int = 0
    took_ms: float = 0.0
    note: str | None = None
    reason: Reason | None = None


class WordMatch(NamedTuple):
    """A word of the query and the most similar words of the memory: from character `start` to `end`
    of its content. `weight` is the word's share of the whole query.
    """

    word: str
    start: int
    end: int
    similarity: float
    weight: float


class RerankPlace(NamedTuple):
    """How the second stage scored a hit, and the place it had before. `words` are the matches of
    the query's words in the memory, if the stage compares words.
    """

    score: float
    former_place: int
    words: tuple[WordMatch, ...] = ()


class RerankReport(NamedTuple):
    """The outcome of the second stage. Unless it ran, the fused order stays."""

    status: StageStatus
    took_ms: float = 0.0
    reranked: int = 0
    note: str | None = None
    stage: Stage = "cross-encoder"

    @property
    def is_missing(self) -> bool:
        """Whether it should have run and did not. Late interaction needs nothing from the user, and
        is there or not.
        """
        expected = ("ran", "skipped") if self.stage == "late" else ("ran",)
        return self.status not in expected


class Passage(NamedTuple):
    """The part of a long text that matched: its characters from `start` up to `end`."""

    text: str
    start: int
    end: int

    def excerpt(self, length: int) -> str:
        """Return the passage, with an ellipsis where a text of this length continues."""
        before, after = "… " if self.start else "", " …" if self.end < length else ""
        return f"{before}{self.text.strip()}{after}"


class MatchedWords(NamedTuple):
    """`matched` of the `asked` words, in any of their forms and without stop words."""

    matched: int
    asked: int


class NewerThan(NamedTuple):
    """The older hit that a newer one was put before, and how the newer one updates it."""

    id: UUID
    reason: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled memory and why it is there: `score` is `fused × prior` for relevance. Hits with a
    `rerank` are in the order of its score.

    A memory `stands_for` those that it supersedes and that would have been hits; if it has the
    place of one of them, that is `ranked_as`, and the scores are that one's. `attached` are the
    memories that resolve it; `pointers` name other link targets. `duplicates` say the same and
    would have been hits. `passage` is the part of a long text that matched. A hit that is
    `newer_than` another and updates it precedes it, whatever the scores.
    """

    memory: Memory
    score: float
    fused: float
    prior: float
    legs: Mapping[LegName, LegPlace]
    rerank: RerankPlace | None = None
    stands_for: tuple[UUID, ...] = ()
    ranked_as: UUID | None = None
    attached: tuple[Memory, ...] = ()
    pointers: tuple[Pointer, ...] = ()
    duplicates: tuple[UUID, ...] = ()
    passage: Passage | None = None
    newer_than: NewerThan | None = None
    matched_words: MatchedWords | None = None


@dataclass(frozen=True, slots=True)
class Recollection:
    """The answer to a recall. `note` says if it is not the requested answer; `scope` is where it
    searched, with the project's full name; `hint` says how to find more. `is_weak`: no hit is
    clearly about the query; perhaps nothing is known about it.
    """

    hits: tuple[Hit, ...]
    legs: Mapping[LegName, LegReport]
    fusion: str
    took_ms: float
    rerank: RerankReport | None = None
    note: str | None = None
    scope: Scope = EVERYWHERE
    hint: str | None = None
    is_weak: bool = False

    @property
    def degraded(self) -> tuple[LegName, ...]:
        """The legs that should have answered and did not."""
        return tuple(name for name, leg in self.legs.items() if leg.status in ("failed", "late"))
