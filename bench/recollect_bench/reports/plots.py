"""Plots of a report: quality by stratum, along a sweep and against time; and time itself.

They need no display, and the same report gives the same picture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from recollect_bench.extra import bench_extra
from recollect_bench.reports.as_markdown import MEAN
from recollect_bench.reports.sweeps import Curve, find_curves
from recollect_bench.scores.report import OVERALL, RULE, Mean, Report, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH: Final = 10.0
_PANEL_HEIGHT: Final = 2.8
_COLUMNS: Final = 2
_DPI: Final = 100
# More bars than this cannot be distinguished.
_MAX_BARS: Final = 10
# How many characters of names fit into a line of the legend.
_MAX_LEGEND_CHARS: Final = 130
# More group names than this do not fit side by side, and are rotated.
_MAX_UNROTATED_GROUPS: Final = 6

_Percent = tuple[float, float, float]
"""A value with the ends of its interval, in percent."""


def write_plots(report: Report, folder: Path, metric: str = "R@10") -> list[Path]:
    """Write every plot that the report has figures for; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, Callable[[Path], None]] = {
        "strata": lambda file: strata_plot(report, metric, file)
    }
    if len(report.sets) > 1:
        drawn["sets"] = lambda file: sets_plot(report, metric, file)
    if find_curves(report.configs):
        drawn["sweep"] = lambda file: sweep_plot(report, metric, file)
    if report.latency:
        drawn["latency"] = lambda file: latency_plot(report, file)
        drawn["quality-latency"] = lambda file: tradeoff_plot(report, metric, file)
    files = [folder / f"{name}.png" for name in drawn]
    for file, draw in zip(files, drawn.values(), strict=True):
        draw(file)
    return files


def strata_plot(report: Report, metric: str, file: Path) -> None:
    """Draw a panel for each set, with a group of bars for each stratum."""
    figure, panels = make_panels(report.sets)
    for set_name, axes in panels.items():
        cells = {
            (row.stratum, row.config): _percent(row)
            for row in report.results
            if (row.set, row.metric) == (set_name, metric)
        }
        _bars(axes, cells, report.configs)
        axes.set_title(set_name)
        axes.set_ylabel(f"{metric}, %")
    save_figure(figure, file)


def sets_plot(report: Report, metric: str, file: Path) -> None:
    """Draw one panel with a group of bars for each set and one for their mean."""
    figure, panels = make_panels([metric])
    cells = {(name, config): value for (config, name), value in _overall(report, metric).items()}
    _bars(panels[metric], cells, report.configs)
    panels[metric].set_ylabel(f"{metric}, %")
    save_figure(figure, file)


def _bars(axes: Axes, cells: Mapping[tuple[str, str], _Percent], configs: Sequence[str]) -> None:
    """Draw groups of bars, one bar for each configuration, with its interval."""
    names = list(configs)[:_MAX_BARS]
    groups = list(dict.fromkeys(group for group, _ in cells))
    width = 1 / (len(names) + 1)
    for number, name in enumerate(names):
        there = [place for place, group in enumerate(groups) if (group, name) in cells]
        values = [cells[groups[place], name] for place in there]
        axes.bar(
            [place + (number + 0.5) * width for place in there],
            [value for value, _, _ in values],
            width,
            yerr=[
                [max(0.0, value - low) for value, low, _ in values],
                [max(0.0, high - value) for value, _, high in values],
            ],
            error_kw={"elinewidth": 0.8},
            label=name,
        )
    middles = [place + 0.5 * len(names) * width for place in range(len(groups))]
    labels = [group.replace(RULE, f"{RULE}\n").replace("_", "_\n") for group in groups]
    axes.set_xticks(
        middles, labels, fontsize=7, rotation=30 if len(groups) > _MAX_UNROTATED_GROUPS else 0
    )


def sweep_plot(report: Report, metric: str, file: Path) -> None:
    """Draw a panel for each set and their mean, with a line for each curve of one parameter."""
    found = find_curves(report.configs)
    parameters = list(dict.fromkeys(curve.parameter for curve in found))
    values = _overall(report, metric)
    sets = [*report.sets, *([MEAN] if len(report.sets) > 1 else [])]
    titles = [f"{name}, {parameter}" for parameter in parameters for name in sets]
    figure, panels = make_panels(titles)
    for parameter in parameters:
        for set_name in sets:
            axes = panels[f"{set_name}, {parameter}"]
            for curve in found:
                if curve.parameter == parameter:
                    _line(axes, curve, values, set_name)
            axes.set_title(set_name)
            axes.set_xlabel(parameter)
            axes.set_ylabel(f"{metric}, %")
    save_figure(figure, file)


def latency_plot(report: Report, file: Path) -> None:
    """Draw bars up to the median, with a mark at the 95th percentile."""
    names = report.configs
    figure, panels = make_panels(report.sets)
    for set_name, axes in panels.items():
        rows = {row.config: row for row in report.latency if row.set == set_name}
        there = [rows[name] for name in names if name in rows]
        places = range(len(there))
        axes.barh(places, [row.p50_ms for row in there], label="p50")
        axes.plot([row.p95_ms for row in there], places, "k|", markersize=12, label="p95")
        axes.set_yticks(places, [row.config for row in there], fontsize=7)
        axes.invert_yaxis()
        axes.set_title(set_name)
        axes.set_xlabel("ms of a whole recall")
    save_figure(figure, file)


def tradeoff_plot(report: Report, metric: str, file: Path) -> None:
    """Plot quality against time, each the mean over the sets: better is up and to the left."""
    values, figure, panels = _overall(report, metric), *make_panels([""])
    axes = panels[""]
    of_all = MEAN if len(report.sets) > 1 else report.sets[0]
    for name in report.configs:
        times = [row.p50_ms for row in report.latency if row.config == name]
        if times and (name, of_all) in values:
            value, low, high = values[name, of_all]
            axes.errorbar(
                fmean(times), value, yerr=[[value - low], [high - value]], fmt="o", label=name
            )
    axes.set_xlabel("median ms of a whole recall")
    axes.set_ylabel(f"{metric}, %, {of_all}")
    axes.set_xlim(left=0)
    save_figure(figure, file)


def _overall(report: Report, metric: str) -> dict[tuple[str, str], _Percent]:
    """Return the overall figures by configuration and set, including the mean of the sets."""
    selected = (metric, OVERALL)
    found = {
        (row.config, row.set): _percent(row)
        for row in report.results
        if (row.metric, row.stratum) == selected
    }
    if len(report.sets) > 1:
        means = (row for row in report.means if (row.metric, row.stratum) == selected)
        found.update({(row.config, MEAN): _percent(row) for row in means})
    return found


def _percent(row: Result | Mean) -> _Percent:
    return 100 * row.value, 100 * row.low, 100 * row.high


def _line(
    axes: Axes,
    curve: Curve,
    values: Mapping[tuple[str, str], _Percent],
    set_name: str,
) -> None:
    there = [(x, *values[name, set_name]) for x, name in curve.points if (name, set_name) in values]
    if there:
        x, value, low, high = zip(*there, strict=True)
        (line,) = axes.plot(x, value, marker="o", markersize=3, label=curve.label)
        axes.fill_between(x, low, high, alpha=0.12, color=line.get_color(), linewidth=0)


def make_panels(titles: Sequence[str]) -> tuple[Figure, dict[str, Axes]]:
    """Create an empty figure with a panel for each title."""
    with bench_extra():
        from matplotlib.figure import Figure

    columns = min(_COLUMNS, len(titles))
    rows = -(-len(titles) // columns)
    height = max(_PANEL_HEIGHT * rows, 4.0) + 0.6
    figure = Figure(figsize=(_WIDTH, height), dpi=_DPI, layout="constrained")
    places = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for unused in places[len(titles) :]:
        unused.set_visible(False)
    return figure, dict(zip(titles, places, strict=False))


def save_figure(figure: Figure, file: Path) -> None:
    """Save the figure with one legend for all panels."""
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        axes.grid(visible=True, alpha=0.3)
        found, labels = axes.get_legend_handles_labels()
        handles.update(zip(labels, found, strict=True))
    if handles:
        columns = max(1, min(4, len(handles), _MAX_LEGEND_CHARS // max(map(len, handles))))
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=columns, fontsize=8
        )
    # Leave out the library's version, so that the same report gives the same bytes.
    figure.savefig(file, metadata={"Software": None})
