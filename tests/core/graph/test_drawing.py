"""The picture of a concept: well-formed whatever the names are, and bounded."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from recollect.core.graph.drawing import spokes, svg
from recollect.core.graph.model import Concept, Neighbourhood, Relationship

OWN, OTHER = UUID(int=1), UUID(int=2)
THEN = datetime(2026, 1, 1, tzinfo=UTC)
# All that a memory can hold; XML cannot hold all of it.
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=60)


def picture(name: str, other: str, relation: str, many: int) -> str:
    edge = Relationship(UUID(int=3), OWN, OTHER, relation, 1.0, THEN, THEN)
    concept = Concept(OWN, "key", name, "name")
    together = tuple((f"{other} {number}", number) for number in range(many))
    return svg(
        Neighbourhood(concept, (edge,), {OWN: name, OTHER: other}, ((other, 0.9),), together, ())
    )


@given(name=TEXT, other=TEXT, relation=TEXT, many=st.integers(0, 60))
def test_any_name_makes_a_picture(name: str, other: str, relation: str, many: int) -> None:
    root = ET.fromstring(picture(name, other, relation, many))
    assert len(root.findall("{http://www.w3.org/2000/svg}line")) == min(1 + many, 24)


def test_the_arrow_shows_the_direction() -> None:
    assert 'marker-end="url(#tip)"' in picture("Ada", "Bob", "knows", 0)
    assert 'marker-start="url(#tip)"' not in picture("Ada", "Bob", "knows", 0)


def test_a_name_stands_there_once_as_what_it_is_first() -> None:
    edge = Relationship(UUID(int=3), OTHER, OWN, "knows", 1.0, THEN, THEN)
    found = Neighbourhood(
        Concept(OWN, "k", "Ada", "name"),
        (edge,),
        {OWN: "Ada", OTHER: "Bob"},
        (("Bob", 0.9), ("Ada L.", 0.9)),
        (("Ada L.", 3), ("Bob", 3), ("Tea", 1)),
        (),
    )
    assert [(one.name, one.kind, one.is_outward) for one in spokes(found)] == [
        ("Bob", "stated by memories", False),
        ("Ada L.", "near synonym", True),
        ("Tea", "mentioned together", True),
    ]


def test_a_concept_alone_is_a_picture_too() -> None:
    alone = Neighbourhood(Concept(OWN, "k", "Ada", "name"), (), {}, (), (), ())
    assert "Ada" in svg(alone)
