"""What `why` shows of the second stage."""

from __future__ import annotations

from uuid import UUID

import pytest
from rich.console import Console
from tests.conformance.samples import memory

from recollect.core.memory.ids import short
from recollect.core.recall.explain import WhyReport
from recollect.core.recall.request import RerankPlace, RerankReport
from recollect.shells.cli.render.why import why

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
    console = Console(width=200)
    with console.capture() as seen:
        console.print(why(report))
    assert ("second stage" in seen.get()) is (line is not None)
    assert (line or "") in seen.get()


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
    console = Console(width=200)
    with console.capture() as seen:
        console.print(why(report))
    assert [line.split(maxsplit=1)[1].strip() for line in seen.get().splitlines()[1:2]] == [
        sentence
    ]
