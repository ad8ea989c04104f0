"""The settings that can be changed while Recollect runs: names, ranges and defaults.

They are rows in the store (docs/adr/0006), read again for every request, so that a change takes
effect with the next recall in every process. The defaults are what the benchmark chose
(docs/adr/0011).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.recall.fusion import FUSIONS, Fusion
from recollect.core.recall.ranking import PRIOR_STRENGTH
from recollect.core.recall.request import MAX_WEIGHT, LegName
from recollect.core.text.analysis import clean_query

_MAX_DEADLINE_MS: Final = 60_000
_MAX_RERANK_MS: Final = 10_000

SecondStage = Literal["off", "late", "cross-encoder"]
SECOND_STAGES: Final[tuple[SecondStage, ...]] = ("off", "late", "cross-encoder")
Switch = Literal["off", "on"]
SWITCH: Final[tuple[Switch, ...]] = ("off", "on")


@dataclass(frozen=True, slots=True)
class WordQuery:
    """What the lexical leg looks for: every word of `text`, else any of it or of `expanded`, both
    cleaned. An `is_exhaustive` search scores every row that matches, however long that takes: the
    benchmark compares with it.
    """

    text: str
    expanded: str = ""
    depth: int = 50
    exclude: frozenset[UUID] = frozenset()
    as_of: datetime | None = None
    is_exhaustive: bool = False

    def __post_init__(self) -> None:
        for name in ("text", "expanded"):
            object.__setattr__(self, name, clean_query(getattr(self, name)))


@dataclass(frozen=True, slots=True)
class RecallSettings:
    """How recall ranks. `vote` belongs to the fusion `standout`, `rrf_k` to `rrf`
    (`core/recall/fusion.py`). `prior_strength` is the share of the fused score that importance
    decides (`core/recall/ranking.py`). A memory for which no leg has evidence of at least
    `min_relevance` is no hit (`core/recall/decisions.py`). `graph_weight` is how far a walk over
    the concept graph may leave the fused order (`core/graph/walk.py`). `second_stage` names what
    reorders the first `rerank_depth` hits, within `rerank_timeout_ms`. With `newer_first`, a hit
    that updates another one precedes it (`core/curation/newer.py`).
    """

    lexical_weight: float = 1.0
    dense_weight: float = 0.65
    graph_weight: float = 1.5
    fusion: Fusion = "standout"
    vote: float = 6.0
    rrf_k: int = 60
    depth: int = 100
    deadline_ms: int = 2_000
    prior_strength: float = PRIOR_STRENGTH
    min_relevance: float = 0.1
    second_stage: SecondStage = "late"
    rerank_depth: int = 25
    rerank_timeout_ms: int = 500
    newer_first: Switch = "on"

    def with_stored(self, rows: Mapping[str, object]) -> RecallSettings:
        """Replace these defaults by a store's rows. A row that this version cannot use, such as one
        that a newer version wrote, is left out: it must not stop every recall.
        """
        return replace(self, **_select_usable(rows))

    def scaled(self, factor: float) -> RecallSettings:
        """Make these time limits `factor` times as long, up to the longest allowed: for a slow
        machine.
        """
        return replace(
            self,
            deadline_ms=min(round(factor * self.deadline_ms), _MAX_DEADLINE_MS),
            rerank_timeout_ms=min(round(factor * self.rerank_timeout_ms), _MAX_RERANK_MS),
        )

    def weights(self) -> dict[LegName, float]:
        return {
            "lexical": self.lexical_weight,
            "dense": self.dense_weight,
            "graph": self.graph_weight,
        }

    @property
    def constant(self) -> float:
        """The constant of the fusion in use."""
        return self.rrf_k if self.fusion == "rrf" else self.vote

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_follow(self, server: Mapping[str, object]) -> dict[str, object]:
        """Return what a client has to change to rank as its server does. Settings that only a newer
        server knows are left out, and so is a lexical weight of 0: a client without its server has
        no other leg, and would find nothing.
        """
        here = self.as_dict()
        return {
            name: value
            for name, value in _select_usable(server).items()
            if value != here[name] and (name, value) != ("lexical_weight", 0.0)
        }

    def changed(self, changes: Mapping[str, object]) -> RecallSettings:
        """Return these settings with some of them changed; InvalidInput names the first one
        refused.
        """
        checked: dict[str, Any] = {name: _check(name, value) for name, value in changes.items()}
        return replace(self, **checked)


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One line of the audit: who changed what, and when. `old` is None if it was the default."""

    name: str
    old: object
    new: object
    by: str
    at: datetime


MAX_SETTINGS_LOG: Final = 1_000


def check_log_limit(limit: int) -> None:
    if not 1 <= limit <= MAX_SETTINGS_LOG:
        raise InvalidInput(
            f"limit {limit} is outside 1..{MAX_SETTINGS_LOG}",
            field="limit",
            remedy=f"Ask for 1 to {MAX_SETTINGS_LOG} changes.",
        )


@dataclass(frozen=True, slots=True)
class Range:
    """A number's allowed range; `whole` numbers have no fraction."""

    low: float
    high: float
    whole: bool = False

    def check(self, name: str, value: object) -> float | int:
        number = _number(value)
        if number is None or not self.low <= number <= self.high:
            raise self._refusal(name, value)
        if not self.whole:
            return number
        if number != int(number):
            raise self._refusal(name, value)
        return int(number)

    def _refusal(self, name: str, value: object) -> InvalidInput:
        return InvalidInput(f"{name} cannot be {value!r:.60}", field=name, remedy=self.remedy)

    @property
    def remedy(self) -> str:
        kind = "whole number" if self.whole else "number"
        return f"Give a {kind} from {self.low:g} to {self.high:g}."


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few names."""

    names: tuple[str, ...]

    def check(self, name: str, value: object) -> str:
        if value not in self.names:
            raise InvalidInput(f"{name} cannot be {value!r:.60}", field=name, remedy=self.remedy)
        return str(value)

    @property
    def remedy(self) -> str:
        return f"Choose one of: {', '.join(self.names)}."


LEGAL: Final[Mapping[str, Range | Choice]] = {
    "lexical_weight": Range(0, MAX_WEIGHT),
    "dense_weight": Range(0, MAX_WEIGHT),
    "graph_weight": Range(0, MAX_WEIGHT),
    "fusion": Choice(FUSIONS),
    "vote": Range(0, 100),
    "rrf_k": Range(1, 1_000, whole=True),
    "depth": Range(1, 1_000, whole=True),
    "deadline_ms": Range(10, _MAX_DEADLINE_MS, whole=True),
    "prior_strength": Range(0, 1),
    "min_relevance": Range(0, 1),
    "second_stage": Choice(SECOND_STAGES),
    "rerank_depth": Range(5, 50, whole=True),
    "rerank_timeout_ms": Range(10, _MAX_RERANK_MS, whole=True),
    "newer_first": Choice(SWITCH),
}


def _select_usable(rows: Mapping[str, object]) -> dict[str, Any]:
    usable: dict[str, Any] = {}
    for name, value in rows.items():
        with suppress(InvalidInput):
            usable[name] = _check(name, value)
    return usable


def _check(name: str, value: object) -> float | int | str:
    if name not in LEGAL:
        raise InvalidInput(
            f"there is no setting named {name[:60]!r}",
            field=name[:60],
            remedy=f"Choose one of: {', '.join(LEGAL)}.",
        )
    return LEGAL[name].check(name, value)


def _number(value: object) -> float | None:
    """Return a number, even if it was typed as text on a command line."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):  # OverflowError: a whole number too large for a float
        return None
