"""What an operator looks at: the embedding models and what needs attention."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Literal

from pydantic import Field

from recollect.core.admin.checks import Check
from recollect.core.admin.machine import Machine
from recollect.core.recall.space import EmbeddingProgress, SpaceState, StoredSpace
from recollect.wire.values import Shape


class SpaceOut(Shape):
    """The vectors of one embedding model. Recall uses the `active` ones; `filling` ones are being
    written beside them, `retired` ones are kept for a rollback.
    """

    embedder: str
    space: str
    state: SpaceState
    embedded: int
    waiting: int
    parked: int
    last_error: str | None

    @classmethod
    def from_space(cls, stored: StoredSpace, progress: EmbeddingProgress) -> SpaceOut:
        return cls(
            embedder=stored.embedder,
            space=stored.space.name,
            state=stored.state,
            embedded=progress.embedded,
            waiting=progress.waiting,
            parked=progress.parked,
            last_error=progress.last_error,
        )


class CheckOut(Shape):
    """One finding. `remedy` says what to do; empty if nothing is wrong."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    remedy: str

    @classmethod
    def from_check(cls, check: Check) -> CheckOut:
        return cls(name=check.name, status=check.status, detail=check.detail, remedy=check.remedy)


class StorageOut(Shape):
    """What the store takes on disk, in bytes; `vectors` is about how much of it are vectors."""

    total: int
    vectors: int


class BackupOut(Shape):
    made_at: datetime
    is_verified: bool


class HookRecallOut(Shape):
    """A hook recalled for a prompt and added this many memories to it."""

    at: datetime
    memories: int


class ScoreOut(Shape):
    """One configuration's mean on one kind of question, with its 95% interval."""

    config: str
    stratum: str
    metric: str
    value: float
    low: float
    high: float
    queries: int


class BenchmarkOut(Shape):
    """The last `recollect bench own`. `current` names the configuration that was in use."""

    made_at: datetime
    current: str
    scores: list[ScoreOut]


class SyncOut(Shape):
    """How far a local copy of a server's memories is. `held` are sensitive and stay here; `parked`
    were refused by the server.
    """

    waiting: int
    held: int
    parked: int
    last_sync_at: datetime | None


class MachineOut(Shape):
    """What the machine of the store records; no texts."""

    storage: StorageOut
    backup: BackupOut | None = Field(description="The last one made from this machine, if known.")
    hook_recalls: list[HookRecallOut] = Field(description="Of hooks on this machine, newest first.")
    benchmark: BenchmarkOut | None
    sync: SyncOut | None = Field(description="Null unless this is a local copy.")

    @classmethod
    def from_machine(cls, machine: Machine) -> MachineOut:
        values = asdict(machine)
        if (sync := machine.sync) is not None:
            values["sync"] = {
                "waiting": sync.waiting,
                "held": sync.held,
                "parked": len(sync.parked),
                "last_sync_at": sync.last_sync_at,
            }
        return cls.model_validate(values)


class DoctorOut(Shape):
    """What `recollect doctor` finds on the machine of the store."""

    checks: list[CheckOut]


class StatusOut(Shape):
    """The server as the key's owner may see it."""

    version: str
    database: str
    spaces: list[SpaceOut] = Field(description="The key's owner's memories in each, oldest first.")
    checks: list[CheckOut]
    machine: MachineOut | None = Field(description="Only for the role admin.")
