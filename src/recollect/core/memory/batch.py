"""Many memories stored at once, and the outcome for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from recollect.core.errors import InvalidInput, RecollectError
from recollect.core.memory.memory import Draft
from recollect.core.text.secret import Secret

# Small enough for one short transaction, which blocks no other writer for long.
MAX_BATCH: Final = 500

Outcome = Literal["stored", "present", "refused"]

# A draft that could not be read keeps its place in a batch, with the reason.
BatchItem = Draft | InvalidInput


@dataclass(frozen=True, slots=True)
class Remembered:
    """The outcome for one memory of a batch. present: the same memory was already stored; `id` is
    its id. refused: `error` says why, and what to do. `secret` made it sensitive, unless the writer
    decided that.
    """

    id: UUID | None
    outcome: Outcome
    error: RecollectError | None = None
    secret: Secret | None = None


def check_batch_size(batch: Sequence[object]) -> None:
    if len(batch) > MAX_BATCH:
        raise InvalidInput(
            f"{len(batch):,} memories were sent at once; the limit is {MAX_BATCH}",
            field="memories",
            remedy=f"Send them in several requests of up to {MAX_BATCH} memories each.",
        )
