"""A concept and what is around it as a PNG picture, where matplotlib is installed."""

from __future__ import annotations

import math
from pathlib import Path

from recollect.core.errors import InvalidInput
from recollect.core.graph import Neighbourhood

_MOST = 24


def draw(found: Neighbourhood, file: Path) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InvalidInput(
            "matplotlib, which draws PNG files, is not installed",
            field="--png",
            remedy="Use --svg, which needs nothing, or install recollect[bench].",
        ) from error
    own = found.concept.id
    spokes = [
        (found.labels[one.target if one.source == own else one.source], one.relation, "#1f5fa8")
        for one in found.relationships
    ]
    spokes += [(name, f"{near:.2f}", "#8a5a00") for name, near in found.near]
    spokes += [(name, f"{many}×", "#7a7a7a") for name, many in found.together]
    figure = Figure(figsize=(11, 7.6))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(-1.7, 1.7)
    axes.set_ylim(-1.2, 1.2)
    shown = spokes[:_MOST]
    for place, (name, label, colour) in enumerate(shown):
        angle = 2 * math.pi * (place + 0.5) / len(shown)
        x, y = math.cos(angle), math.sin(angle)
        axes.plot([0, x], [0, y], color=colour, linewidth=1.2, zorder=1)
        axes.plot([x], [y], "o", color=colour, zorder=2)
        side = "right" if x < 0 else "left"
        axes.text(x * 1.03, y * 1.03, _plain(name), ha=side, va="center", fontsize=9)
        back = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axes.text(x * 0.6, y * 0.6, _plain(label), ha="center", va="center", fontsize=7, bbox=back)
    axes.plot([0], [0], "o", color="#b3261e", markersize=10, zorder=3)
    axes.text(0, 0.06, _plain(found.concept.name), ha="center", fontsize=12, weight="bold")
    figure.savefig(file, format="png", dpi=100)


def _plain(text: str) -> str:
    """Dollar signs would be read as mathematics."""
    return " ".join(text.split())[:30].replace("$", r"\$")
