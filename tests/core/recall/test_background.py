"""What a cosine means relative to those of unrelated texts."""

from __future__ import annotations

import random
from statistics import fmean

import pytest

from recollect.core.recall.background import Unrelated, gain_by_chance, read_background


def test_unrelated_texts_have_a_mean_a_nearest_cosine_and_a_spread() -> None:
    background = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [-1.0, 0.0]]
    found = Unrelated.measure([1.0, 0.0], background)
    assert found == pytest.approx(((1.0 + 0.0 + 0.6 - 1.0) / 4, (1.0 + 0.6) / 2, 0.5675**0.5))


@pytest.mark.parametrize(
    ("cosine", "expected"),
    [(1.0, 1.0), (0.6, 0.75), (0.2, 0.5), (0.1, 0.25), (0.0, 0.0), (-0.02, 0.0)],
)
def test_evidence_runs_from_unrelated_to_identical(cosine: float, expected: float) -> None:
    assert Unrelated(0.0, 0.2, 0.1).evidence(cosine) == pytest.approx(expected)


@pytest.mark.parametrize("unrelated", [Unrelated(1.0, 1.0, 0.0), Unrelated(0.5, 0.5, 0.0)])
def test_evidence_is_between_0_and_1_for_any_background(unrelated: Unrelated) -> None:
    assert all(0.0 <= unrelated.evidence(cosine) <= 1.0 for cosine in (-1.0, 0.5, 1.0))


def test_a_model_with_high_cosines_gives_the_same_evidence() -> None:
    """Cosines squeezed into the upper quarter mean what they meant before."""

    def squeeze(cosine: float) -> float:
        return 0.75 + cosine / 4

    usual = Unrelated(0.05, 0.2, 0.08)
    squeezed = Unrelated(squeeze(0.05), squeeze(0.2), 0.02)
    for cosine in (0.1, 0.3, 0.8):
        assert squeezed.evidence(squeeze(cosine)) == pytest.approx(usual.evidence(cosine))


def test_the_background_has_no_text_twice() -> None:
    assert len(set(read_background())) == len(read_background())


def test_a_text_of_one_passage_gains_nothing_by_chance() -> None:
    assert gain_by_chance(1) == 0.0


@pytest.mark.parametrize("passages", [10, 30, 100])
def test_the_gain_is_about_that_of_the_best_of_so_many_numbers(passages: int) -> None:
    draw = random.Random(5)
    best = fmean(max(draw.gauss(0.0, 1.0) for _ in range(passages)) for _ in range(300))
    assert gain_by_chance(passages) == pytest.approx(best, rel=0.2)
