"""Scores, paths and reasons, as shown to a person."""

from __future__ import annotations

from uuid import UUID

import pytest
from rich.console import Console, RenderableType
from tests.conformance.samples import memory

from recollect.core.memory.ids import short, short_ids
from recollect.core.recall.explain import WhyReport
from recollect.core.recall.request import Hit, LegPlace, Recollection, RerankPlace, RerankReport
from recollect.shells.cli.render.tables import amount, hits
from recollect.shells.cli.render.why import why

FIRST = UUID("019a0000-0000-7000-8000-000000000001")
JUDGED = RerankPlace(0.25, 3)
CASES = [
    (None, None, None),
    (RerankReport("ran", 1.0, 3), JUDGED, "scored it 0.25; previously at place 3"),
    (RerankReport("ran", 1.0, 3), None, "did not judge it"),
    (RerankReport("late", 1.0, note="not done"), None, "late: not done"),
]


@pytest.mark.parametrize(("stage", "judged", "line"), CASES)
def test_the_second_stage_has_its_line(
    stage: RerankReport | None, judged: RerankPlace | None, line: str | None
) -> None:
    report = WhyReport(
        memory(1), True, 1, 10, 1.0, 1.0, 1.0, {}, (), rerank=judged, second_stage=stage
    )
    shown = draw(why(report))
    assert ("second stage" in shown) is (line is not None)
    assert (line or "") in shown


@pytest.mark.parametrize(
    ("place", "successor", "sentence"),
    [
        (1, UUID(int=2), f"no, it was replaced by {short(UUID(int=2))}"),
        (11, None, "no; its place is or would be 11, beyond the limit of 10"),
        (1, None, "no; otherwise, its place would be 1"),
        (None, None, "no"),
    ],
)
def test_what_is_not_recalled_says_why(
    place: int | None, successor: UUID | None, sentence: str
) -> None:
    report = WhyReport(
        memory(1), False, place, 10, None, 1.0, None, {}, (), superseded_by=successor
    )
    assert draw(why(report)).splitlines()[1].split(maxsplit=1)[1].strip() == sentence


@pytest.mark.parametrize(
    ("score", "shown"),
    [(5.824, "5.82"), (0.0164, "0.0164"), (0.00003, "<0.0001"), (0.0, "0.0000"), (-0.5, "-0.5000")],
)
def test_a_score_near_zero_is_not_shown_as_zero(score: float, shown: str) -> None:
    assert amount(score) == shown


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((str(FIRST), "Charles Babbage"), f"by {short(FIRST)} → Charles Babbage"),
        (("Ada Lovelace",), "by the query → Ada Lovelace"),
    ],
)
def test_an_explanation_names_the_path(path: tuple[str, ...], text: str) -> None:
    assert text in draw_hit(LegPlace(2, 0.1, 1.0, path))


def test_a_hit_that_was_not_led_to_has_no_rank() -> None:
    assert "graph -0.2000 (not reached)" in draw_hit(LegPlace(None, 0.0, -0.2))


def draw_hit(place: LegPlace) -> str:
    hit = Hit(memory(1), 1.0, 1.0, 1.0, {"graph": place})
    found = Recollection((hit,), {}, "standout", 1.0)
    return draw(hits(found, short_ids([hit.memory.id]), explain=True))


def draw(shown: RenderableType) -> str:
    console = Console(width=300)
    with console.capture() as seen:
        console.print(shown)
    return seen.get()
