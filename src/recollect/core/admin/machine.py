"""What the machine of a store records in addition to the memories: sizes, backups, hooks, a
benchmark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.core.sync.model import SyncStatus


@dataclass(frozen=True, slots=True)
class StorageSize:
    """`vectors` is the approximate part of `total` that vectors take."""

    total: int
    vectors: int


@dataclass(frozen=True, slots=True)
class LastBackup:
    made_at: datetime
    is_verified: bool


@dataclass(frozen=True, slots=True)
class HookRecall:
    """A hook added `memories` to a prompt; 0 if it found none."""

    at: datetime
    memories: int


@dataclass(frozen=True, slots=True)
class Score:
    """One configuration's mean on one kind of question, with its 95% interval."""

    config: str
    stratum: str
    metric: str
    value: float
    low: float
    high: float
    queries: int


@dataclass(frozen=True, slots=True)
class OwnBenchmark:
    """The last `recollect bench own`. `current` names the configuration that was in use."""

    made_at: datetime
    current: str
    scores: tuple[Score, ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """`sync` is None unless the store is a copy of a server's."""

    storage: StorageSize
    backup: LastBackup | None
    hook_recalls: tuple[HookRecall, ...]
    benchmark: OwnBenchmark | None
    sync: SyncStatus | None


def read_hook_recalls(lines: Sequence[str]) -> tuple[HookRecall, ...]:
    """Read the recalls among the lines of the hooks' log, newest first."""
    found = []
    for line in lines:
        stamp, _, rest = line.partition(" ")
        hook, _, outcome = rest.partition(" injected=")
        many = outcome.partition(" ")[0]
        if hook == "recall" and many.isdecimal():
            found.append(HookRecall(datetime.fromisoformat(stamp), int(many)))
    return tuple(reversed(found))


def read_own_benchmark(report: Mapping[str, Any], made_at: datetime) -> OwnBenchmark:
    """Read the scores of a report that `recollect bench own` wrote."""
    names = Score.__dataclass_fields__
    scores = tuple(
        Score(**{name: value for name, value in row.items() if name in names})
        for row in report["results"]
    )
    current = str(report["provenance"].get("current_configuration", ""))
    return OwnBenchmark(made_at, current, scores)
