"""The path that led the graph to a hit, as shown to a person."""

from __future__ import annotations

from uuid import UUID

import pytest
from rich.console import Console
from tests.conformance.samples import memory

from recollect.core.memory.ids import short, short_ids
from recollect.core.recall.request import Hit, LegPlace, Recollection
from recollect.shells.cli.render.tables import hits

FIRST = UUID("019a0000-0000-7000-8000-000000000001")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((str(FIRST), "Charles Babbage"), f"by {short(FIRST)} → Charles Babbage"),
        (("Ada Lovelace",), "by the query → Ada Lovelace"),
    ],
)
def test_an_explanation_names_the_path(path: tuple[str, ...], text: str) -> None:
    assert text in render(LegPlace(2, 0.1, 1.0, path))


def test_a_hit_that_was_not_led_to_has_no_rank() -> None:
    assert "graph -0.2000 (not reached)" in render(LegPlace(None, 0.0, -0.2))


def render(place: LegPlace) -> str:
    hit = Hit(memory(1), 1.0, 1.0, 1.0, {"graph": place})
    console = Console(width=300)
    with console.capture() as seen:
        console.print(
            hits(
                Recollection((hit,), {}, "standout", 1.0), short_ids([hit.memory.id]), explain=True
            )
        )
    return seen.get()
