"""What `why` shows of the second stage."""

from __future__ import annotations

import pytest
from rich.console import Console
from tests.conformance.samples import memory

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


@pytest.mark.parametrize(("stage", "judged", "told"), CASES)
def test_the_second_stage_has_its_line(
    stage: RerankReport | None, judged: RerankPlace | None, told: str | None
) -> None:
    report = WhyReport(
        memory(1), True, 1, 10, 1.0, 1.0, 1.0, {}, (), rerank=judged, second_stage=stage
    )
    console = Console(width=200)
    with console.capture() as seen:
        console.print(why(report))
    assert ("second stage" in seen.get()) is (told is not None)
    assert (told or "") in seen.get()
