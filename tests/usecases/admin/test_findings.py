"""What needs attention, in words."""

from __future__ import annotations

import pytest

from recollect.core.admin.stats import Stats
from recollect.core.recall.space import EmbeddingStats
from recollect.usecases.admin.findings import find_problems


def stats(embedding: EmbeddingStats | None) -> Stats:
    return Stats(2, 0, 0, embedding=embedding)


def test_without_a_model_it_says_how_memories_are_found() -> None:
    (found,) = find_problems(stats(None), {})
    assert (found.name, found.detail) == ("meaning", "memories are found by their words only")
    assert "recollect models get" in found.remedy


@pytest.mark.parametrize(
    ("waiting", "parked", "detail"),
    [
        (0, 1, "1 memory failed too often: it choked"),
        (0, 2, "2 memories failed too often: it choked"),
        (1, 0, "1 memory waiting"),
        (0, 0, "nothing waits"),
    ],
)
def test_numbers_are_in_grammatical_number(waiting: int, parked: int, detail: str) -> None:
    error = "it choked" if parked else None
    (found,) = find_problems(stats(EmbeddingStats("m", 0, waiting, parked, error)), {})
    assert found.detail == detail
