"""What a confidence is worth, counted from prompts whose answers are known."""

from __future__ import annotations

from recollect_bench.studies.confidence import Asked, Band, WeakRow, count_bands, count_weak

ASKED = (
    Asked("answerable", 0, ((0.45, True), (0.41, False), (0.02, False)), is_weak=False),
    Asked("unanswerable", 1, ((0.04, False),), is_weak=True),
    Asked("unanswerable", 1, (), is_weak=True),
    Asked("everyday", 0, ((0.44, False),), is_weak=False),
)


def test_hits_of_about_the_same_confidence_are_counted_together() -> None:
    assert [*count_bands(ASKED)] == [
        Band("0 to 5%", 2, 3.0, 0.0),
        Band("40 to 50%", 2, 43.0, 50.0),
    ]


def test_an_empty_answer_is_weak_and_has_no_confidence() -> None:
    _, unanswerable, _ = count_weak(ASKED)
    assert unanswerable == WeakRow("unanswerable", 2, 100.0, 2.0)
