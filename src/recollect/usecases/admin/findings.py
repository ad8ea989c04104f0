"""Find what needs attention on a running server, as far as an owner's statistics show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from recollect.core.admin.checks import MORE_THAN_WORDS, PARKED_REMEDY, Check
from recollect.core.text.analysis import counted

if TYPE_CHECKING:
    from recollect.core.admin.stats import Stats
    from recollect.core.sync.model import SyncStatus


def find_problems(
    stats: Stats, notes: Mapping[str, str], sync: SyncStatus | None = None
) -> list[Check]:
    """Return one check per part; `notes` say what a part lacks to work at all."""
    found = [
        Check(name, "warn", note, "Run `recollect doctor --full` on the server.")
        for name, note in notes.items()
        if note
    ]
    embedding, graph = stats.embedding, stats.graph
    if embedding is None:
        found.append(
            Check("meaning", "warn", "memories are found by their words only", MORE_THAN_WORDS)
        )
    else:
        found.append(
            _check_work("meaning", embedding.waiting, embedding.parked, embedding.last_error)
        )
    if graph is not None:
        found.append(_check_work("concept graph", graph.waiting, graph.parked, graph.last_error))
    if sync is not None:
        found.append(_check_sync(sync))
    return found


def _check_sync(status: SyncStatus) -> Check:
    if status.parked:
        first = status.parked[0]
        refused = counted(len(status.parked), "change")
        return Check("sync", "fail", f"the server refused {refused}: {first.reason}", first.remedy)
    if status.last_error is not None:
        return Check("sync", "warn", status.last_error, status.remedy or "It is retried.")
    return Check("sync", "ok", f"{counted(status.waiting, 'change')} to send")


def _check_work(name: str, waiting: int, parked: int, error: str | None) -> Check:
    if parked:
        return Check(
            name,
            "fail",
            f"{counted(parked, 'memory')} failed too often: {error or 'no error'}",
            PARKED_REMEDY,
        )
    if error is not None:
        return Check(name, "warn", error, "It is retried; run `recollect doctor` for the cause.")
    return Check(
        name, "ok", f"{counted(waiting, 'memory')} waiting" if waiting else "nothing waits"
    )
