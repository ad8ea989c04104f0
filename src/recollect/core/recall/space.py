"""What makes two vectors comparable.

Vectors are only ever compared inside one space. Whatever changes a vector (another model, other
weights, another way of computing with them) is part of the space's identity. The instruction that
precedes a query is stored with it, because a query must look as it did when the model was trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from math import hypot, isfinite
from typing import Final, Literal
from uuid import UUID

from recollect.core.errors import ModelUnavailable
from recollect.core.text.languages import share_script
from recollect.core.text.passages import MAX_WINDOW

SAME_SCRIPT: Final = 0.2
"""How much an English model counts for a German query. docs/adr/0044 has the figures."""


@dataclass(frozen=True, slots=True)
class Space:
    """One embedding model at one revision with one dimension.

    `revision` is empty if it is unknown: a hosted model is whatever its name means today.
    `languages` are those that the model was made for, if known. `window` is how many tokens of a
    text become one vector.
    """

    model: str
    revision: str
    dimension: int
    distance: Literal["cosine"] = "cosine"
    query_instruction: str = ""
    languages: frozenset[str] = field(default=frozenset(), compare=False)
    window: int = field(default=MAX_WINDOW, compare=False)

    def __post_init__(self) -> None:
        if not self.model:
            raise ValueError("a space needs a model")
        if self.dimension < 1:
            raise ValueError("a space needs a dimension of at least 1")

    @property
    def name(self) -> str:
        """The identity of the space's stored vectors: equal names, comparable vectors.

        The query instruction is left out: it changes what is asked, not what is stored.
        """
        revision = f"@{self.revision}" if self.revision else ""
        return f"{self.model}{revision}/{self.dimension}"

    def trust(self, language: str | None) -> float:
        """Return how much the model's vectors count in a language: fully, unless it was not made
        for it. If it was made for another language in the same script, it still knows names and
        words that look alike.
        """
        if language is None or not self.languages or language in self.languages:
            return 1.0
        return SAME_SCRIPT if share_script(language, self.languages) else 0.0


def unit_vector(space: Space, vector: Sequence[float]) -> list[float]:
    """Scale the vector to length 1: the cosine stays the same, and 16 bits are used where they
    count. ModelUnavailable if it is no vector of this space: checked here, so that the error names
    the model that answered wrongly, and not a statement that the store refused.
    """
    if len(vector) != space.dimension:
        raise _invalid_vector(space, f"{len(vector)} numbers, not {space.dimension}")
    length = hypot(*vector)
    if not isfinite(length) or length == 0.0:
        raise _invalid_vector(space, "a vector without a direction")
    return [number / length for number in vector]


def _invalid_vector(space: Space, found: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"the model {space.model} answered with {found}",
        remedy="Check that RECOLLECT_EMBEDDER names the model that this space was made with.",
    )


SpaceState = Literal["filling", "active", "retired"]


@dataclass(frozen=True, slots=True)
class StoredSpace:
    """A space as a database stores it. `embedder` is the name by which every process that shares
    the database loads the model that writes it (`minilm`, `voyage/voyage-3.5`, …).

    At most one space is active: the one that recall searches. A filling one is written alongside.
    At most one is the former space, which was active before, for a rollback: it is retired, or
    filling again because of one.
    """

    id: int
    embedder: str
    space: Space
    state: SpaceState
    is_former: bool = False

    @property
    def is_given_up(self) -> bool:
        """Whether it will not be used again and can only be removed."""
        return self.state == "retired" and not self.is_former

    def require(self, other: Space) -> None:
        """Raise ModelUnavailable if the model of this name now writes another space than
        this one.
        """
        if other.name != self.space.name:
            raise ModelUnavailable(
                f"{self.embedder} now makes vectors of {other.name}, which cannot be compared with "
                f"those of {self.space.name}; `recollect reembed --model {self.embedder}` embeds "
                "the memories again",
                remedy=f"Run `recollect reembed --model {self.embedder}`, or bring back the "
                "version of the model that wrote them.",
            )


@dataclass(frozen=True, slots=True)
class Gap:
    """How many memories have a vector in the active space and none in another one; `failed` of them
    could not be embedded there, and the others are waiting.
    """

    missing: int
    failed: int


@dataclass(frozen=True, slots=True)
class Survey:
    """What a store knows before it searches by meaning: the active space, if there is one, and
    whether an index finds the nearest vectors of this scope faster than comparing all of them.
    Without `has_passages` every memory of the owner has one vector.
    """

    space: StoredSpace | None
    use_index: bool
    has_passages: bool = True


# What was measured: docs/adr/0029.
TURNS_BEFORE: Final = 2
_SHORT: Final = 300


def context_of(turn: str, before: Sequence[str]) -> Sequence[str]:
    """Return which of the turns before one are embedded with it, oldest first. A short remark is
    understood from the short ones just before it; a longer one is clear without them.
    """
    if len(turn) > _SHORT:
        return ()
    kept = list(takewhile(lambda text: len(text) <= _SHORT, reversed(before[-TURNS_BEFORE:])))
    return kept[::-1]


@dataclass(frozen=True, slots=True)
class EmbeddingJob:
    """One text that a space still needs. The ticket changes when the text does, so that the vector
    of an older text is recognised and dropped. The turns before a turn follow its own words in
    `text`, from `context_at` on.
    """

    memory_id: UUID
    owner: str
    ticket: str
    text: str
    context_at: int | None = None


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """How far a space is. `parked` jobs failed too often; `last_error` is the error of the last
    one.

    Of those that wait, `failing` have failed and are retried later; of these, `soon` failed only
    once or twice and are retried in a moment.
    """

    embedded: int
    waiting: int
    parked: int
    last_error: str | None = None
    failing: int = 0
    soon: int = 0


@dataclass(frozen=True, slots=True)
class EmbeddingStats:
    """How far the space that recall searches is with an owner's memories. `embedder` is the name of
    its model; `languages` are those that it was made for; none are known of some models.
    `token_bytes` is the size of the token vectors. `unsent` changes are not yet known to the search
    engine, if that is not the store.
    """

    space: str
    embedded: int
    waiting: int
    parked: int
    last_error: str | None = None
    languages: tuple[str, ...] = ()
    token_bytes: int = 0
    unsent: int = 0
    embedder: str = ""
