"""The settings that can be changed while Recollect runs: names, ranges and defaults.

They are rows in the store (docs/adr/0006), read again for every request, so that a change is obeyed
by the next recall in every process. The defaults are the specification's until the benchmark
proves better ones (docs/adr/0005).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from recollect.core.errors import InvalidInput
from recollect.core.fusion import FUSIONS, Fusion
from recollect.core.recall import MAX_WEIGHT, LegName

LexicalRanking = Literal["idf", "idf_exhaustive", "ts_rank"]
LEXICAL_RANKINGS: Final[tuple[LexicalRanking, ...]] = (
    "idf",
    "idf_exhaustive",
    "ts_rank",
)


@dataclass(frozen=True, slots=True)
class RecallSettings:
    """How recall ranks. `lexical_ranking` matters on Postgres only: `idf` knows how rare a word is,
    `ts_rank` is the plain ranking kept as the benchmark's baseline.
    """

    lexical_weight: float = 1.0
    dense_weight: float = 1.0
    graph_weight: float = 0.35
    fusion: Fusion = "rrf"
    rrf_k: int = 60
    depth: int = 50
    deadline_ms: int = 2_000
    lexical_ranking: LexicalRanking = "idf"

    @classmethod
    def stored(cls, rows: Mapping[str, object]) -> RecallSettings:
        """The defaults with a store's rows in their places. A row this version cannot use, such as
        one that a newer version wrote, is left out: it must not stop every recall.
        """
        usable: dict[str, Any] = {}
        for name, value in rows.items():
            with suppress(InvalidInput):
                usable[name] = _checked(name, value)
        return cls(**usable)

    def weights(self) -> dict[LegName, float]:
        return {
            "lexical": self.lexical_weight,
            "dense": self.dense_weight,
            "graph": self.graph_weight,
        }

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def changed(self, changes: Mapping[str, object]) -> RecallSettings:
        """These settings with some of them changed; InvalidInput names the first one refused."""
        checked: dict[str, Any] = {name: _checked(name, value) for name, value in changes.items()}
        return replace(self, **checked)


@dataclass(frozen=True, slots=True)
class Range:
    """A number's legal range; `whole` numbers have no fraction."""

    low: float
    high: float
    whole: bool = False

    def checked(self, name: str, value: object) -> float | int:
        number = _number(value)
        if number is None or not self.low <= number <= self.high:
            raise self.refused(name, value)
        if not self.whole:
            return number
        if number != int(number):
            raise self.refused(name, value)
        return int(number)

    def refused(self, name: str, value: object) -> InvalidInput:
        kind = "whole number" if self.whole else "number"
        return InvalidInput(
            f"{name} cannot be {value!r:.60}",
            field=name,
            remedy=f"Give a {kind} from {self.low:g} to {self.high:g}.",
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few names."""

    names: tuple[str, ...]

    def checked(self, name: str, value: object) -> str:
        if value not in self.names:
            raise InvalidInput(
                f"{name} cannot be {value!r:.60}",
                field=name,
                remedy=f"Choose one of: {', '.join(self.names)}.",
            )
        return str(value)


LEGAL: Final[Mapping[str, Range | Choice]] = {
    "lexical_weight": Range(0, MAX_WEIGHT),
    "dense_weight": Range(0, MAX_WEIGHT),
    "graph_weight": Range(0, MAX_WEIGHT),
    "fusion": Choice(FUSIONS),
    "rrf_k": Range(1, 1_000, whole=True),
    "depth": Range(1, 1_000, whole=True),
    "deadline_ms": Range(10, 60_000, whole=True),
    "lexical_ranking": Choice(LEXICAL_RANKINGS),
}


def _checked(name: str, value: object) -> float | int | str:
    if name not in LEGAL:
        raise InvalidInput(
            f"there is no setting named {name[:60]!r}",
            field=name[:60],
            remedy=f"The settings are: {', '.join(LEGAL)}.",
        )
    return LEGAL[name].checked(name, value)


def _number(value: object) -> float | None:
    """A number, also when it was typed as text on a command line."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):  # the latter for a whole number no float can hold
        return None
