"""A concept and what is around it as an SVG picture: plain text, made here, needing nothing else.

The concept stands in the middle; what it has to do with stands on a ring around it, each name on
the outer side of its dot, so that no line crosses a name. A picture is looked at for a moment:
it shows the first of each kind, and the command prints the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from recollect.core.graph import MENTIONED_TOGETHER, NEAR, Neighbourhood

_WIDTH: Final = 1100
_HEIGHT: Final = 760
_MOST: Final = 24
_LONGEST: Final = 30
_COLOURS: Final = {"relation": "#1f5fa8", NEAR: "#8a5a00", MENTIONED_TOGETHER: "#7a7a7a"}
_STYLE: Final = (
    "text{font-family:sans-serif;font-size:13px;fill:#222}"
    ".on{font-size:11px;fill:#555}.middle{font-size:16px;font-weight:bold}"
)


@dataclass(frozen=True, slots=True)
class _Spoke:
    """One line from the middle: what stands at its end, and what joins them."""

    name: str
    label: str
    kind: str
    is_outward: bool = True


def svg(found: Neighbourhood) -> str:
    """The picture of a neighbourhood."""
    spokes = _spokes(found)
    middle_x, middle_y = _WIDTH / 2, _HEIGHT / 2
    lines: list[str] = []
    texts: list[str] = []
    for place, spoke in enumerate(spokes):
        angle = 2 * math.pi * (place + 0.5) / max(len(spokes), 1) - math.pi / 2
        x = middle_x + math.cos(angle) * 330
        y = middle_y + math.sin(angle) * 330
        lines.append(_line(middle_x, middle_y, x, y, spoke))
        texts += _texts(middle_x, middle_y, x, y, spoke)
    title = escape(found.concept.name)
    parts = (
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
            f' width="{_WIDTH}" height="{_HEIGHT}" role="img">'
        ),
        f"<title>{title}</title><style>{_STYLE}</style>",
        (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9"'
            ' markerHeight="9" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="#1f5fa8"/>'
            "</marker></defs>"
        ),
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        *lines,
        f'<circle cx="{middle_x:.0f}" cy="{middle_y:.0f}" r="9" fill="#b3261e"/>',
        *texts,
        _boxed(found.concept.name, middle_x, middle_y - 16),
        _legend(spokes),
        "</svg>",
    )
    return "\n".join(parts) + "\n"


def _spokes(found: Neighbourhood) -> list[_Spoke]:
    """Relationships first; then what is near, then what stands beside it most often."""
    own = found.concept.id
    stated: dict[tuple[str, bool], list[str]] = {}
    for one in found.relationships:
        is_outward = one.source == own
        name = found.labels[one.target if is_outward else one.source]
        stated.setdefault((name, is_outward), []).append(one.relation)
    spokes = [
        _Spoke(name, ", ".join(dict.fromkeys(said)), "relation", is_outward)
        for (name, is_outward), said in stated.items()
    ]
    there = {spoke.name for spoke in spokes}
    spokes += [_Spoke(name, f"{near:.2f}", NEAR) for name, near in found.near if name not in there]
    there = {spoke.name for spoke in spokes}
    spokes += [
        _Spoke(name, f"{many}×", MENTIONED_TOGETHER)
        for name, many in found.together
        if name not in there
    ]
    return spokes[:_MOST]


def _line(x1: float, y1: float, x2: float, y2: float, spoke: _Spoke) -> str:
    tip = ""
    if spoke.kind == "relation":
        tip = ' marker-end="url(#tip)"' if spoke.is_outward else ' marker-start="url(#tip)"'
    dash = "" if spoke.kind == "relation" else ' stroke-dasharray="5 4"'
    length = math.hypot(x2 - x1, y2 - y1)
    near, far = 14 / length, 1 - 9 / length
    ends = (
        x1 + (x2 - x1) * near,
        y1 + (y2 - y1) * near,
        x1 + (x2 - x1) * far,
        y1 + (y2 - y1) * far,
    )
    x1, y1, x2, y2 = ends
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
        f' stroke="{_COLOURS[spoke.kind]}" stroke-width="1.4"{dash}{tip}/>'
    )


def _texts(x1: float, y1: float, x2: float, y2: float, spoke: _Spoke) -> list[str]:
    to_the_left = x2 < x1 - 1
    anchor = "end" if to_the_left else "start"
    beside = x2 + (-10 if to_the_left else 10)
    on_x, on_y = x1 + (x2 - x1) * 0.62, y1 + (y2 - y1) * 0.62
    return [
        f'<circle cx="{x2:.1f}" cy="{y2:.1f}" r="5" fill="{_COLOURS[spoke.kind]}"/>',
        (
            f'<text x="{beside:.1f}" y="{y2 + 4:.1f}" text-anchor="{anchor}">'
            f"{escape(_short(spoke.name))}</text>"
        ),
        (
            f'<text class="on" x="{on_x:.1f}" y="{on_y - 4:.1f}" text-anchor="middle" stroke="#fff"'
            f' stroke-width="3" paint-order="stroke">{escape(_short(spoke.label))}</text>'
        ),
    ]


def _boxed(name: str, x: float, y: float) -> str:
    return (
        f'<text class="middle" x="{x:.0f}" y="{y:.0f}" text-anchor="middle" stroke="#fff"'
        f' stroke-width="5" paint-order="stroke">{escape(_short(name))}</text>'
    )


def _legend(spokes: list[_Spoke]) -> str:
    kinds = dict.fromkeys(spoke.kind for spoke in spokes)
    names = {"relation": "stated by memories", NEAR: NEAR, MENTIONED_TOGETHER: MENTIONED_TOGETHER}
    rows = [
        f'<circle cx="24" cy="{24 + 20 * place}" r="5" fill="{_COLOURS[kind]}"/>'
        f'<text x="36" y="{28 + 20 * place}">{names[kind]}</text>'
        for place, kind in enumerate(kinds)
    ]
    return "".join(rows)


def _short(text: str) -> str:
    tidy = " ".join(text.split())
    return tidy if len(tidy) <= _LONGEST else f"{tidy[: _LONGEST - 1]}…"
