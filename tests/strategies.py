"""Hypothesis strategies that several test files share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from hypothesis import strategies as st

from recollect.core.memory.ids import uuid7
from recollect.core.recall.request import LEGS, MAX_WEIGHT, Candidate, LegName

MOMENT: Final = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)

# Halves of surrogate pairs, which broken UTF-8 produces, and characters with a meaning to a shell,
# a query language or a terminal. `st.text` would draw them as rarely as any other character.
_HOSTILE: Final = "\ud800\udbff\udc80\udcff\udfff\x00\x1b\n\"'*:&|!()_-"
any_text: Final = st.lists(st.characters() | st.sampled_from(_HOSTILE)).map("".join)
moments: Final = st.datetimes(
    min_value=datetime(1970, 1, 1),  # noqa: DTZ001 (the strategy adds the zone)
    max_value=datetime(2500, 1, 1),  # noqa: DTZ001 (the strategy adds the zone)
    timezones=st.just(UTC),
)
leg_names: Final = st.sampled_from(LEGS)
weights_in_force: Final = st.floats(min_value=0.01, max_value=MAX_WEIGHT)
finite_scores: Final = st.floats(allow_nan=False, allow_infinity=False)


def candidate(
    number: int, score: float = 1.0, importance: float = 0.5, *, evidence: float = 1.0
) -> Candidate:
    """Return the candidate with id `number`, so that a smaller number is an earlier id."""
    return Candidate(UUID(int=number), score, importance, MOMENT, evidence)


@st.composite
def leg_answers(
    draw: st.DrawFn, scores: st.SearchStrategy[float] = finite_scores
) -> list[Candidate]:
    """Draw what one leg may answer: distinct memories of a small pool, best score first."""
    numbers = draw(st.lists(st.integers(1, 12), unique=True, max_size=8))
    descending = sorted(draw(_as_many(scores, numbers)), reverse=True)
    return [candidate(*pair) for pair in zip(numbers, descending, strict=True)]


def _as_many(
    scores: st.SearchStrategy[float], numbers: Sequence[int]
) -> st.SearchStrategy[list[float]]:
    return st.lists(scores, min_size=len(numbers), max_size=len(numbers))


def answers(
    scores: st.SearchStrategy[float] = finite_scores,
) -> st.SearchStrategy[dict[LegName, list[Candidate]]]:
    return st.dictionaries(leg_names, leg_answers(scores))


def all_weights(
    each: st.SearchStrategy[float] = weights_in_force,
) -> st.SearchStrategy[dict[LegName, float]]:
    return st.fixed_dictionaries(dict.fromkeys(LEGS, each))


def new_id() -> UUID:
    """Return an id as a writer creates it."""
    return uuid7(datetime.now(UTC), os.urandom(10))
