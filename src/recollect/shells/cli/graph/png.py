"""A concept and its neighbours as a PNG, if matplotlib is installed; positions and colours are
those of the SVG.
"""

from __future__ import annotations

import warnings
from pathlib import Path

from recollect.core.admin.extras import how_to_install
from recollect.core.errors import InvalidInput
from recollect.core.graph.drawing import (
    COLOURS,
    HEIGHT,
    MIDDLE,
    MIDDLE_COLOUR,
    STATED,
    WIDTH,
    shortened,
    spokes,
)
from recollect.core.graph.model import Neighbourhood


def draw(found: Neighbourhood, file: Path) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InvalidInput(
            "PNG output needs matplotlib, which is not installed",
            field="--png",
            remedy=f"Use --svg, which needs no extra packages. {how_to_install('bench')}",
        ) from error
    figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(HEIGHT, 0)
    back = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    around = spokes(found)
    for spoke in around:
        colour = COLOURS[spoke.kind]
        start, end = spoke.ends
        line: dict[str, object] = {"color": colour, "shrinkA": 0, "shrinkB": 0}
        if spoke.kind == STATED:
            line["arrowstyle"] = "-|>" if spoke.is_outward else "<|-"
        else:
            line |= {"arrowstyle": "-", "linestyle": "--"}
        axes.annotate("", xy=end, xytext=start, arrowprops=line)
        axes.plot([spoke.x], [spoke.y], "o", color=colour, markersize=7)
        side, beside = ("right", spoke.x - 10) if spoke.is_left else ("left", spoke.x + 10)
        axes.text(beside, spoke.y, _plain(spoke.name), ha=side, va="center", fontsize=8)
        axes.text(
            *spoke.at(0.62), _plain(spoke.label), ha="center", va="center", fontsize=7, bbox=back
        )
    x, y = MIDDLE
    axes.plot([x], [y], "o", color=MIDDLE_COLOUR, markersize=11)
    name = _plain(shortened(found.concept.name))
    axes.text(x, y - 22, name, ha="center", va="center", fontsize=11, weight="bold", bbox=back)
    for place, kind in enumerate(dict.fromkeys(spoke.kind for spoke in around)):
        axes.plot([24], [24 + 20 * place], "o", color=COLOURS[kind], markersize=7)
        axes.text(36, 24 + 20 * place, kind, va="center", fontsize=9)
    with warnings.catch_warnings():
        # For a character that its font lacks, matplotlib draws a box and prints a long warning.
        warnings.simplefilter("ignore", UserWarning)
        figure.savefig(file, format="png")


def _plain(text: str) -> str:
    """Dollar signs would be parsed as math."""
    return text.replace("$", r"\$")
