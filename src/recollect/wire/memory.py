"""Memories as they are shown: stored, written, listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Final, NamedTuple
from uuid import UUID

from pydantic import BeforeValidator

from recollect.core.errors import RecollectError
from recollect.core.memory.batch import Outcome, Remembered
from recollect.core.memory.links import Link
from recollect.core.memory.listing import Page
from recollect.core.memory.memory import FIELDS, Changes, Draft, Memory
from recollect.core.text.secret import Secret
from recollect.wire.codec import codec, listing
from recollect.wire.fields import DESCRIPTIONS
from recollect.wire.problems import Problem
from recollect.wire.values import WITH_GLOBAL


def _is_absent(value: object) -> bool:
    return value is None


def _is_false(value: object) -> bool:
    return value is False


LINK: Final = codec(
    Link,
    "LinkOut",
    """A link to another memory. Keep unknown kinds, but do not follow them.""",
)

# The first servers do not send these fields.
ADDED: Final = frozenset([*FIELDS][[*FIELDS].index("deleted_at") :])
_MEMORY: Final[dict[str, Any]] = {
    "later": ADDED,
    **{name: {"description": words} for name, words in DESCRIPTIONS.items()},
    "changed_by": {"description": "Who made this version, if known."},
    "superseded_by": {
        "description": "When read or listed: the memory that recall shows in its place."
    },
}
MEMORY: Final = codec(
    Memory,
    "MemoryOut",
    """A memory as stored.""",
    without={"was_known": False},
    **_MEMORY,
)
HISTORY: Final = listing(
    MEMORY,
    "versions",
    "HistoryOut",
    """The versions of a memory, newest first; the first is the current one.""",
)
PAGE: Final = codec(
    Page,
    "PageOut",
    """One page of a listing, newest first.""",
    flat=("scope.project", "scope.with_global"),
    later=("project", "with_global"),
    next_cursor={"description": "Pass it to get the next page; null on the last one."},
    project={"description": "The listed project, in full."},
    with_global={"description": WITH_GLOBAL},
)
SECRET: Final = codec(
    Secret,
    "SecretOut",
    """What a text looks like, and how certain that is, from 0 to 1. Never the text itself.""",
    without={"start": 0, "end": 0},
    kind={"examples": ["GitHub token"]},
)


class Written(NamedTuple):
    """A memory as stored now. A caller who did not set the sensitivity must learn that the text
    decided, and why; otherwise a memory would silently stop being found by meaning.
    """

    memory: Memory
    sensitive_because: Secret | None = None

    # Imported late: only writers need the patterns, and readers have no time for them.
    @classmethod
    def of_draft(cls, memory: Memory, draft: Draft) -> Written:
        from recollect.core.privacy.sensitive import secret_in_draft

        return cls(memory, secret_in_draft(draft) if memory.is_sensitive else None)

    @classmethod
    def of_changes(cls, memory: Memory, changes: Changes) -> Written:
        from recollect.core.privacy.sensitive import secret_in_changes

        return cls(memory, secret_in_changes(changes) if memory.is_sensitive else None)


_SENSITIVE_BECAUSE: Final = {"default": None, "exclude_if": _is_absent}
WRITTEN: Final = codec(
    Written,
    "WrittenOut",
    """A memory as stored now. `already_remembered` is set if its text was already stored: it is
    that memory, with tags, keywords and links added. `sensitive_because` is set if its text made it
    sensitive; `is_sensitive: false` overrides that.
    """,
    flat=("memory",),
    **_MEMORY,
    already_remembered={"path": "memory.was_known", "default": False, "exclude_if": _is_false},
    sensitive_because=_SENSITIVE_BECAUSE,
)


def _to_problem(error: object) -> object:
    return Problem.from_error(error) if isinstance(error, RecollectError) else error


BATCH_ITEM: Final = codec(
    Remembered,
    "BatchItemOut",
    """The outcome for one memory. stored: it is durably stored; present: the same memory was
    already stored, and `id` is its id; refused: `problem` says why, and what to do.
    `sensitive_because` is set if its text made it sensitive.
    """,
    read=lambda found, values: Remembered(
        **{**values, "error": None if found.problem is None else found.problem.to_error()}
    ),
    problem={
        "path": "error",
        "type": Annotated[Problem | None, BeforeValidator(_to_problem)],
        "default": None,
        "exclude_if": _is_absent,
    },
    sensitive_because={"path": "secret", **_SENSITIVE_BECAUSE},
)


class Batch(NamedTuple):
    """The outcomes for the memories of a batch, and how many there are of each."""

    stored: int
    present: int
    refused: int
    results: tuple[Remembered, ...]

    @classmethod
    def of(cls, results: Sequence[Remembered]) -> Batch:
        counts = Counter[Outcome](result.outcome for result in results)
        return cls(counts["stored"], counts["present"], counts["refused"], tuple(results))


BATCH: Final = codec(
    Batch,
    "BatchOut",
    """One result for each memory, in the order sent, and the count of each outcome.""",
)


class Forgotten(NamedTuple):
    """Which memory was forgotten, and whether it was erased."""

    id: UUID
    forever: bool


FORGOTTEN: Final = codec(
    Forgotten,
    "ForgottenOut",
    """Which memory was forgotten, and whether it was erased.""",
)
