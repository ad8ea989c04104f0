"""A concept and what is around it as a picture: where everything stands, and all of it as SVG,
which is plain text and needs nothing else. `shells/cli/graph/png.py` draws the same in another way.

The concept stands in the middle; what it has to do with stands on a ring around it, each name on
the outer side of its dot, so that no line crosses a name. A picture is looked at for a moment:
it shows the first of each kind, and the command prints the rest.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from recollect.core.graph.model import MENTIONED_TOGETHER, NEAR, Neighbourhood

WIDTH: Final = 1100
HEIGHT: Final = 760
_MOST: Final = 24
_LONGEST: Final = 30
STATED: Final = "stated by memories"
COLOURS: Final = {STATED: "#1f5fa8", NEAR: "#8a5a00", MENTIONED_TOGETHER: "#7a7a7a"}
MIDDLE: Final = (WIDTH / 2, HEIGHT / 2)
MIDDLE_COLOUR: Final = "#b3261e"
_RADIUS: Final = 330
# What a memory can hold and XML cannot.
_NOT_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_STYLE: Final = (
    "text{font-family:sans-serif;font-size:13px;fill:#222}"
    ".on{font-size:11px;fill:#555}.middle{font-size:16px;font-weight:bold}"
)


@dataclass(frozen=True, slots=True)
class Spoke:
    """One line from the middle: what stands at its end, and what joins them. Both texts are short
    enough to be shown.
    """

    name: str
    label: str
    kind: str
    is_outward: bool
    x: float
    y: float

    def at(self, part: float) -> tuple[float, float]:
        """A place on the line, from 0 in the middle to 1 at the end."""
        x, y = MIDDLE
        return x + (self.x - x) * part, y + (self.y - y) * part

    @property
    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """From where to where the line is drawn: its dots stay free, and a tip that points to the
        middle stays outside the name there.
        """
        near = 14 if self.is_outward else 60
        return self.at(near / _RADIUS), self.at(1 - 9 / _RADIUS)

    @property
    def is_left(self) -> bool:
        return self.x < MIDDLE[0] - 1


def svg(found: Neighbourhood) -> str:
    """The picture of a neighbourhood."""
    around = spokes(found)
    middle_x, middle_y = MIDDLE
    title = escape(shortened(found.concept.name))
    parts = (
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
            f' width="{WIDTH}" height="{HEIGHT}" role="img">'
        ),
        f"<title>{title}</title><style>{_STYLE}</style>",
        (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9"'
            ' markerHeight="9" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="#1f5fa8"/>'
            "</marker></defs>"
        ),
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        *map(_line, around),
        f'<circle cx="{middle_x:.0f}" cy="{middle_y:.0f}" r="9" fill="{MIDDLE_COLOUR}"/>',
        *(text for spoke in around for text in _texts(spoke)),
        (
            f'<text class="middle" x="{middle_x:.0f}" y="{middle_y - 16:.0f}" text-anchor="middle"'
            f' stroke="#fff" stroke-width="5" paint-order="stroke">{title}</text>'
        ),
        _legend(around),
        "</svg>",
    )
    return "\n".join(parts) + "\n"


def spokes(found: Neighbourhood) -> list[Spoke]:
    """Relationships first; then what is near, then what stands beside it most often; each name as
    what it is first.
    """
    own = found.concept.id
    stated: dict[tuple[str, bool], list[str]] = {}
    for relationship in found.relationships:
        is_outward = relationship.source == own
        name = found.labels[relationship.target if is_outward else relationship.source]
        stated.setdefault((name, is_outward), []).append(relationship.relation)
    said = [
        (name, ", ".join(dict.fromkeys(relations)), STATED, is_outward)
        for (name, is_outward), relations in stated.items()
    ]
    there = {name for name, *_ in said}
    said += [(name, f"{near:.2f}", NEAR, True) for name, near in found.near if name not in there]
    there |= {name for name, _ in found.near}
    said += [
        (name, f"{many}×", MENTIONED_TOGETHER, True)
        for name, many in found.together
        if name not in there
    ]
    shown = said[:_MOST]
    placed: list[Spoke] = []
    for place, (name, label, kind, is_outward) in enumerate(shown):
        angle = 2 * math.pi * (place + 0.5) / len(shown) - math.pi / 2
        x = MIDDLE[0] + math.cos(angle) * _RADIUS
        y = MIDDLE[1] + math.sin(angle) * _RADIUS
        placed.append(Spoke(shortened(name), shortened(label), kind, is_outward, x, y))
    return placed


def shortened(text: str) -> str:
    tidy = " ".join(_NOT_XML.sub(" ", text).split())
    return tidy if len(tidy) <= _LONGEST else f"{tidy[: _LONGEST - 1]}…"


def _line(spoke: Spoke) -> str:
    tip = ""
    if spoke.kind == STATED:
        tip = ' marker-end="url(#tip)"' if spoke.is_outward else ' marker-start="url(#tip)"'
    dash = "" if spoke.kind == STATED else ' stroke-dasharray="5 4"'
    (x1, y1), (x2, y2) = spoke.ends
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
        f' stroke="{COLOURS[spoke.kind]}" stroke-width="1.4"{dash}{tip}/>'
    )


def _texts(spoke: Spoke) -> list[str]:
    anchor = "end" if spoke.is_left else "start"
    beside = spoke.x + (-10 if spoke.is_left else 10)
    on_x, on_y = spoke.at(0.62)
    return [
        f'<circle cx="{spoke.x:.1f}" cy="{spoke.y:.1f}" r="5" fill="{COLOURS[spoke.kind]}"/>',
        (
            f'<text x="{beside:.1f}" y="{spoke.y + 4:.1f}" text-anchor="{anchor}">'
            f"{escape(spoke.name)}</text>"
        ),
        (
            f'<text class="on" x="{on_x:.1f}" y="{on_y + 4:.1f}" text-anchor="middle" stroke="#fff"'
            f' stroke-width="4" paint-order="stroke">{escape(spoke.label)}</text>'
        ),
    ]


def _legend(around: list[Spoke]) -> str:
    rows = [
        f'<circle cx="24" cy="{24 + 20 * place}" r="5" fill="{COLOURS[kind]}"/>'
        f'<text x="36" y="{28 + 20 * place}">{kind}</text>'
        for place, kind in enumerate(dict.fromkeys(spoke.kind for spoke in around))
    ]
    return "".join(rows)
