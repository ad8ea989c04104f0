"""The sizes at which the store changes its behavior, passed in as one value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Measured defaults: ADR 0009 and 0041 for the search, ADR 0039 for the frequencies."""

    exact_rows: int = 4_000
    """Up to this size every vector of the scope is compared, and nothing is missed."""
    index_rows: int = 10_000
    """Owners with more vectors get an index; without one, every scope is compared."""
    max_indexes: int = 40
    """Per space, for its largest owners: each index slows down every statement on the table."""
    ef_per_row: int = 4
    ef_min: int = 200
    """The least `ef_search` of the index: four per requested row, at least 200."""
    max_scan: int = 20_000
    """Vectors an index scan may visit before it gives up: pgvector's own default."""
    sweep: int = 1_000
    """Memories per step of a sweep: few, so that locks are short and new memories do not wait."""
    drop_batch: int = 5_000
    """Vectors that one transaction removes when a space is dropped."""
    index_memory_mb: int = 512
    """The most memory that building an index requests."""
    index_element_bytes: int = 820
    """Size of an index element without its numbers; measured on pgvector 0.8.5 with m = 16 (43,389
    vectors of 384 numbers in 64 MB), and rounded up."""
    live_words: int = 1_000
    """Up to this number of memories, an owner's words are counted with each recall, not stored."""
    small_owner: int = 2_000
    """Up to this number of memories, an owner's word frequencies are refreshed as part of a write:
    it takes milliseconds."""
