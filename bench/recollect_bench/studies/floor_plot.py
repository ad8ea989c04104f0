"""The curves that a relevance floor is chosen from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from recollect.core.recall.relevance import FLOOR, MEANING_FLOOR
from recollect_bench.reports.plots import make_panels, save_figure
from recollect_bench.studies.floor import FloorRow

# Red is reserved for disturbed prompts.
_COLORS: Final = [
    f"tab:{name}" for name in ("blue", "orange", "green", "purple", "pink", "olive", "cyan")
]


def floor_plot(tables: Mapping[str, Sequence[FloorRow]], file: Path) -> None:
    """Draw a panel for each store: how many prompts are helped and disturbed at each floor."""
    figure, drawn = make_panels(list(tables))
    for title, axes in drawn.items():
        rows = tables[title]
        floors = [row.floor for row in rows]
        axes.set_prop_cycle(color=_COLORS)
        for stratum in rows[0].strata:
            shares = [row.strata[stratum] for row in rows]
            axes.plot(floors, shares, linewidth=0.8, alpha=0.7, label=f"helped: {stratum}")
        axes.plot(floors, [row.helped for row in rows], "k", linewidth=2, label="helped: all")
        disturbed = {
            "disturbed: unanswerable": [row.own for row in rows],
            "disturbed: everyday": [row.everyday for row in rows],
            "disturbed: other sets": [row.strange for row in rows],
        }
        for (label, shares), style in zip(disturbed.items(), ("r-", "r--", "r:"), strict=True):
            if any(shares):
                axes.plot(floors, shares, style, linewidth=1.5, label=label)
        default = MEANING_FLOOR if MEANING_FLOOR in floors else FLOOR
        axes.axvline(default, color="gray", linewidth=0.8, label="the default")
        axes.set_title(title)
        axes.set_xlabel("floor")
        axes.set_ylabel("prompts, %")
    save_figure(figure, file)
