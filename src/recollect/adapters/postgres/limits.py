"""The sizes at which the store changes what it does, in one value that is passed in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Measured defaults: ADR 0009 and 0041 for the search, ADR 0039 for the frequencies."""

    exact_rows: int = 4_000
    """Up to here every vector of the scope is compared, and nothing can be missed."""
    index_rows: int = 10_000
    """Owners with more vectors get an index; without one, every scope is compared."""
    most_indexes: int = 40
    """In a space, for its largest owners: each index makes every statement on the table slower."""
    ef_per_row: int = 4
    ef_min: int = 200
    """How many neighbours the index keeps in sight: four per row asked for, at least 200."""
    max_scan: int = 20_000
    """Vectors a walk may meet before it gives up: pgvector's own default."""
    sweep: int = 1_000
    """Memories one step of a sweep looks at: short locks, and new memories never wait for many."""
    drop_batch: int = 5_000
    """Vectors that one transaction removes when a space is dropped."""
    index_memory_mb: int = 512
    """The most that building an index asks for."""
    index_element_bytes: int = 820
    """Of an element of the index beside its numbers; measured on pgvector 0.8.5 with m = 16 (64 MB
    held 43,389 vectors of 384 numbers), and rounded up."""
    live_words: int = 1_000
    """Up to so many memories an owner's words are counted with each recall, and kept nowhere."""
    small_owner: int = 2_000
    """Up to here an owner's word frequencies are refreshed as part of a write: it takes
    milliseconds."""
