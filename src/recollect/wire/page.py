"""What only the web page reads: tables, a memory in detail, growth, what a hook injects, and the
state of the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Final, NamedTuple
from uuid import UUID

from pydantic import BeforeValidator

from recollect.core.admin.checks import Check
from recollect.core.admin.machine import (
    HookRecall,
    LastBackup,
    Machine,
    OwnBenchmark,
    Score,
    StorageSize,
)
from recollect.core.imports.jsonl import HEADER, to_line
from recollect.core.memory.listing import Table
from recollect.core.memory.memory import Memory
from recollect.core.recall.space import EmbeddingProgress, StoredSpace
from recollect.core.sync.model import SyncStatus
from recollect.usecases.agents.inject import Injection
from recollect.usecases.memory.browse import Details
from recollect.usecases.memory.transfer import Taken
from recollect.wire.codec import codec, listing
from recollect.wire.memory import MEMORY
from recollect.wire.values import Shape

TABLE: Final = codec(
    Table,
    "TableOut",
    """Some rows, and how many there are in all.""",
    memories={"of": MEMORY},
)
DETAILS: Final = codec(
    Details,
    "DetailsOut",
    """A memory with its former versions, newest first, the concepts it mentions, and the state of
    its vector: `never` for a sensitive or forgotten memory, `off` where recall goes by words only.
    `parked` is the error of a text that failed too often.
    """,
    memory={"of": MEMORY},
    history={"of": MEMORY},
)


class ExportOut(Shape):
    """The lines of a file that `recollect import` reads, newest memory first: a header, then a line
    for each memory. `left_out`: how many sensitive memories were not exported.
    """

    lines: list[str]
    exported: int
    left_out: int

    @classmethod
    def from_memories(cls, memories: Sequence[Memory], taken: Taken) -> ExportOut:
        lines = [HEADER, *map(to_line, memories)]
        return cls(lines=lines, exported=taken.exported, left_out=taken.left_out)


class WeekOut(Shape):
    """How many memories were stored in the week that starts on this Monday (UTC)."""

    week: date
    memories: int


class GrowthOut(Shape):
    """The last weeks, oldest first."""

    weeks: list[WeekOut]


class InjectOut(Shape):
    """What a hook would add to the prompt: the text, about how many tokens it is, and its memories.
    Of those `found`, some may be `sensitive`, `below` the floor, or too long (`unfit`).
    """

    text: str
    tokens: int
    memories: list[UUID]
    found: int
    sensitive: int
    below: int
    unfit: int

    @classmethod
    def from_injection(cls, injection: Injection, text: str, tokens: int) -> InjectOut:
        return cls(
            text=text,
            tokens=tokens,
            memories=[memory.id for memory in injection.memories],
            found=injection.found,
            sensitive=injection.sensitive,
            below=injection.below,
            unfit=injection.unfit,
        )


class SpaceProgress(NamedTuple):
    """A space, and how far it is with an owner's memories."""

    stored: StoredSpace
    progress: EmbeddingProgress


def _name_of(space: Any) -> Any:  # noqa: ANN401  # a Space, or its name
    return getattr(space, "name", space)


SPACE: Final = codec(
    SpaceProgress,
    "SpaceOut",
    """The vectors of one embedding model. Recall uses the `active` ones; `filling` ones are being
    written alongside, `retired` ones are kept for a rollback.
    """,
    flat=("stored", "progress"),
    without={"stored.id": 0, "stored.is_former": False, "progress.failing": 0, "progress.soon": 0},
    space={"type": Annotated[str, BeforeValidator(_name_of)]},
)
CHECK: Final = codec(
    Check,
    "CheckOut",
    """One finding. `remedy` says what to do; empty if nothing is wrong.""",
)
STORAGE: Final = codec(
    StorageSize,
    "StorageOut",
    """What the store takes on disk, in bytes; `vectors` is about how much of it are vectors.""",
)
BACKUP: Final = codec(LastBackup, "BackupOut", "")
HOOK_RECALL: Final = codec(
    HookRecall,
    "HookRecallOut",
    """A hook recalled for a prompt and added this many memories to it.""",
)
SCORE: Final = codec(
    Score,
    "ScoreOut",
    """One configuration's mean on one kind of question, with its 95% interval.""",
)
BENCHMARK: Final = codec(
    OwnBenchmark,
    "BenchmarkOut",
    """The last `recollect bench own`. `current` names the configuration that was in use.""",
)
SYNC: Final = codec(
    SyncStatus,
    "SyncOut",
    """How far a local copy of a server's memories is. `held` are sensitive and stay here; `parked`
    were refused by the server.
    """,
    only=("waiting", "held", "parked", "last_sync_at"),
    parked={"type": Annotated[int, BeforeValidator(len)]},
)
MACHINE: Final = codec(
    Machine,
    "MachineOut",
    """What the machine of the store records; no texts.""",
    backup={"description": "The last one made from this machine, if known."},
    hook_recalls={"description": "Of hooks on this machine, newest first."},
    sync={"description": "Null unless this is a local copy."},
)
DOCTOR: Final = listing(
    CHECK,
    "checks",
    "DoctorOut",
    """What `recollect doctor` finds on the machine of the store.""",
)


class Status(NamedTuple):
    """A server as its operator looks at it."""

    version: str
    database: str
    spaces: tuple[SpaceProgress, ...]
    checks: tuple[Check, ...]
    machine: Machine | None


STATUS: Final = codec(
    Status,
    "StatusOut",
    """The server as the key's owner may see it.""",
    spaces={"description": "The key's owner's memories in each, oldest first."},
    machine={"description": "Only for the role admin."},
)
