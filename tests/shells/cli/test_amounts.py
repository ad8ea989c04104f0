"""Scores as people read them."""

from __future__ import annotations

import pytest

from recollect.shells.cli.render.tables import amount


@pytest.mark.parametrize(
    ("score", "shown"),
    [(5.824, "5.82"), (0.0164, "0.0164"), (0.00003, "<0.0001"), (0.0, "0.0000"), (-0.5, "-0.5000")],
)
def test_a_score_near_zero_is_not_shown_as_zero(score: float, shown: str) -> None:
    assert amount(score) == shown
