"""How a database is distributed over the nodes of a Citus cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from recollect.core.admin.checks import Check
from recollect.core.text.analysis import counted

DEFAULT_SHARDS: Final = 32
"""The default of Citus."""
DISTRIBUTE_REMEDY: Final = "Stop all servers and workers, then run `recollect database distribute`."


@dataclass(frozen=True, slots=True)
class Distribution:
    """`version` is empty where the extension is not enabled. `local`: tables that are still only on
    the coordinator. `is_unfinished`: `distribute` was interrupted, and some constraints, triggers
    or policies are missing. `is_superuser`: the login is one, and bypasses the policies. `lost`:
    the host and port of nodes that do not answer.
    """

    version: str = ""
    nodes: int = 0
    distributed: int = 0
    reference: int = 0
    local: tuple[str, ...] = ()
    is_unfinished: bool = False
    is_superuser: bool = False
    lost: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        return self.distributed > 0 and not self.local and not self.is_unfinished

    def __str__(self) -> str:
        tables = f"{counted(self.distributed, 'distributed table')}, {self.reference} reference"
        return f"Citus {self.version}, {counted(self.nodes, 'node')} with shards, {tables}"

    def check(self) -> Check:
        """Return what `doctor` reports where the extension is enabled."""
        name = "citus"
        if self.lost:
            found = f"{self}; cannot be reached: {', '.join(self.lost)}"
            remedy = 'Start them again; see "When a node is down" in docs/citus.md.'
            return Check(name, "fail", found, remedy)
        if self.is_unfinished:
            return Check(name, "fail", f"{self}; not finished", DISTRIBUTE_REMEDY)
        if self.local:
            found = f"{self}; not distributed: {', '.join(self.local)}"
            return Check(name, "warn", found, DISTRIBUTE_REMEDY)
        if self.is_superuser:
            remedy = (
                "Name a login in RECOLLECT_DATABASE_URL that owns the tables and is no superuser."
            )
            return Check(name, "warn", f"{self}; a superuser bypasses row-level security", remedy)
        return Check(name, "ok", str(self))
