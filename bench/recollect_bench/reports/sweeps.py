"""Find configurations that differ in a single number: they are the points of a curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MIN_POINTS: Final = 3
"""Two points are a comparison, not a curve."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Configurations that differ only in one parameter, by its value, ascending."""

    parameter: str
    label: str
    points: tuple[tuple[float, str], ...]


def find_curves(names: Sequence[str]) -> list[Curve]:
    """Find the curves among configurations, in the order of their names."""
    found: dict[tuple[str, str], dict[float, str]] = {}
    for name in names:
        base, *parameters = name.split(":")
        for place, parameter in enumerate(parameters):
            key, _, text = parameter.partition("=")
            number = _number(text)
            if number is not None:
                rest = ":".join([base, *parameters[:place], *parameters[place + 1 :]])
                found.setdefault((key, rest), {}).setdefault(number, name)
    return [
        Curve(parameter, label, tuple(sorted(points.items())))
        for (parameter, label), points in found.items()
        if len(points) >= MIN_POINTS
    ]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
