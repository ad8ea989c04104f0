"""SQL shared by the triggers of `vectors.sql`, and how vectors are recomputed."""

from __future__ import annotations

from typing import Final

from recollect.adapters.sqlite.schema.script import drop_all, read_statements

_IS_ANOTHER: Final = """
    (old.content <> new.content OR old.is_sensitive <> new.is_sensitive
        OR (old.deleted_at IS NULL) <> (new.deleted_at IS NULL))
"""
_IS_MOVED: Final = """
    old.category = 'episode' AND (old.category <> new.category
        OR old.session IS NOT new.session OR old.project IS NOT new.project)
"""

# The embeddings that include the text of a turn, or should.
_HOLDING: Final = """
    SELECT embedding FROM embedding_context WHERE owner = old.owner AND before = old.number
"""
_OWN_CONTEXT: Final = """
    SELECT c.embedding FROM embedding_context c JOIN embeddings e ON e.id = c.embedding
    WHERE e.owner = old.owner AND e.memory = old.number
"""
# A turn that moved, and the two after it where it is now, as far as they are short
# (core/recall/space.py).
_ARRIVED_AT: Final = """
    SELECT id FROM embeddings
    WHERE owner = old.owner AND passage = 0 AND (memory = old.number OR memory IN (
        SELECT number FROM (
            SELECT a.number, a.content FROM memories a
            WHERE a.owner = new.owner AND a.session = new.session AND a.project IS new.project
                AND a.category = 'episode' AND a.deleted_at IS NULL
                AND (a.created_at, a.id) > (new.created_at, new.id)
            ORDER BY a.created_at, a.id LIMIT 2
        ) WHERE length(content) <= 300))
"""
# They become jobs again, in a new edition, so that a vector that is being computed from the old
# text is refused.
_RENEW: Final = """
    UPDATE embeddings SET vector = NULL, context_hash = NULL, edition = edition + 1, attempts = 0,
        due_at = 0, last_error = NULL
    WHERE id IN ({which});
    DELETE FROM embedding_context WHERE embedding IN ({which});
"""
# Indexes on memories, which remain when vectors are recomputed.
_OF_MEMORIES: Final = 2


def read_vectors() -> tuple[str, ...]:
    return read_statements(
        "vectors.sql",
        is_another=_IS_ANOTHER,
        is_moved=_IS_MOVED,
        renew_holding=_RENEW.format(which=_HOLDING),
        renew_own=_RENEW.format(which=_OWN_CONTEXT),
        renew_arrived=_RENEW.format(which=_ARRIVED_AT),
    )


def renew_vectors() -> tuple[str, ...]:
    """Return statements that recreate the tables empty: vectors are recomputed from texts."""
    statements = read_vectors()[_OF_MEMORIES:]
    return ("DELETE FROM concept_vectors", *drop_all(statements), *statements)
