"""Spaces and embeddings in the local store, with the guarantees of the server's tables.

An embedding without a vector is a job (docs/adr/0008). Its foreign key carries a column that is
always 0, so that SQLite itself refuses a row for a sensitive memory and refuses to leave one
behind. The triggers remove a vector in the transaction that changes what it was made from.
"""

from __future__ import annotations

import re
from typing import Final

# What the foreign keys of embeddings and of the graph refer to.
_MEMORY_NUMBERS: Final = """
CREATE UNIQUE INDEX memories_by_number ON memories (owner, number, is_sensitive)
"""
# The turns of a conversation in their order.
_TURNS: Final = """
CREATE INDEX memories_turns ON memories (owner, session, created_at, id)
WHERE category = 'episode' AND deleted_at IS NULL
"""

# is_former: the space that `recollect reembed --rollback` goes back to.
# swept_to: the highest memory number that was looked at for missing rows; NULL when all were.
# AUTOINCREMENT: the id of a dropped space is not used again.
_SPACES: Final = """
CREATE TABLE spaces (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    embedder TEXT NOT NULL,
    model TEXT NOT NULL,
    revision TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    distance TEXT NOT NULL CHECK (distance = 'cosine'),
    query_instruction TEXT NOT NULL,
    languages TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('filling', 'active', 'retired')),
    is_former INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    swept_to INTEGER DEFAULT 0,
    UNIQUE (model, revision, dimension, distance)
) STRICT
"""
_ONE_ACTIVE: Final = "CREATE UNIQUE INDEX spaces_active ON spaces (state) WHERE state = 'active'"
_ONE_FORMER: Final = "CREATE UNIQUE INDEX spaces_former ON spaces (is_former) WHERE is_former"

# One row for each passage of a text; most texts have one. A row without a vector is a job, always
# of the first passage, number 0: the others are added with their vectors, and hold no other
# memory's words. start_char, end_char: NULL where the text is a single passage.
# A changed text gets a new row, and other words around it a new edition: that tells a worker
# whether what it claimed is still present, for an id is never used again. due_at: not claimed
# before; pushed on by a claim and by a failure. context_hash: of the turns that are embedded with a
# turn. position: when the vector, or what a scope asks of its memory, last changed
# (`vector_changes`).
# Memories by number, not by id: so five rows fit a page instead of four.
_EMBEDDINGS: Final = """
CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    memory INTEGER NOT NULL,
    space_id INTEGER NOT NULL,
    passage INTEGER NOT NULL DEFAULT 0,
    sensitive INTEGER NOT NULL DEFAULT 0 CHECK (sensitive = 0),
    start_char INTEGER,
    end_char INTEGER,
    edition INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER NOT NULL DEFAULT 0,
    position INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    context_hash BLOB,
    vector BLOB,
    CHECK (passage = 0 OR vector IS NOT NULL),
    UNIQUE (owner, memory, space_id, passage),
    FOREIGN KEY (owner, memory, sensitive) REFERENCES memories (owner, number, is_sensitive)
        ON DELETE CASCADE
) STRICT
"""
_PENDING: Final = """
CREATE INDEX embeddings_pending ON embeddings (space_id, due_at, id) WHERE vector IS NULL
"""
_BY_POSITION: Final = """
CREATE INDEX embeddings_by_position ON embeddings (owner, space_id, position)
WHERE vector IS NOT NULL
"""

# The token vectors of a passage, beside its vector: there only as long as that one is, so never for
# a sensitive memory.
_TOKENS: Final = """
CREATE TABLE token_vectors (
    embedding INTEGER PRIMARY KEY REFERENCES embeddings (id) ON DELETE CASCADE,
    block BLOB NOT NULL
) STRICT
"""

# Which turns' words are in whose vector.
_CONTEXT: Final = """
CREATE TABLE embedding_context (
    owner TEXT NOT NULL,
    before INTEGER NOT NULL,
    embedding INTEGER NOT NULL REFERENCES embeddings (id) ON DELETE CASCADE,
    sensitive INTEGER NOT NULL DEFAULT 0 CHECK (sensitive = 0),
    PRIMARY KEY (owner, before, embedding),
    FOREIGN KEY (owner, before, sensitive) REFERENCES memories (owner, number, is_sensitive)
) STRICT, WITHOUT ROWID
"""
_CONTEXT_OF: Final = "CREATE INDEX embedding_context_of ON embedding_context (embedding)"

# What a matrix in memory compares itself with, in its one row: how many changes vectors had, and
# how many were removed.
_CHANGES: Final = """
CREATE TABLE vector_changes (
    number INTEGER PRIMARY KEY CHECK (number = 1),
    position INTEGER NOT NULL,
    removed INTEGER NOT NULL
) STRICT
"""
_NO_CHANGES: Final = "INSERT INTO vector_changes (position, removed) VALUES (0, 0)"
_COUNT_CHANGE: Final = "UPDATE vector_changes SET position = position + 1"
_COUNT_REMOVED: Final = "UPDATE vector_changes SET removed = removed + 1"
_VECTOR_STORED: Final = f"""
CREATE TRIGGER vector_stored AFTER UPDATE OF vector ON embeddings WHEN new.vector IS NOT NULL BEGIN
    {_COUNT_CHANGE};
    UPDATE embeddings SET position = (SELECT position FROM vector_changes) WHERE id = new.id;
END
"""  # noqa: S608  # composed of constants
_PASSAGE_STORED: Final = _VECTOR_STORED.replace(
    "vector_stored AFTER UPDATE OF vector", "passage_stored AFTER INSERT"
)
_VECTOR_CLEARED: Final = f"""
CREATE TRIGGER vector_cleared AFTER UPDATE OF vector ON embeddings
WHEN old.vector IS NOT NULL AND new.vector IS NULL BEGIN
    {_COUNT_REMOVED};
    DELETE FROM token_vectors WHERE embedding = new.id;
END
"""  # noqa: S608  # composed of constants
_VECTOR_REMOVED: Final = f"""
CREATE TRIGGER vector_removed AFTER DELETE ON embeddings WHEN old.vector IS NOT NULL BEGIN
    {_COUNT_REMOVED};
END
"""
_SCOPE_CHANGED: Final = f"""
CREATE TRIGGER vector_scope_changed AFTER UPDATE OF category, project, session, created_at,
    valid_from, valid_until
ON memories WHEN old.category <> new.category OR old.project IS NOT new.project
    OR old.session IS NOT new.session OR old.created_at <> new.created_at
    OR old.valid_from IS NOT new.valid_from OR old.valid_until IS NOT new.valid_until
BEGIN
    {_COUNT_CHANGE};
    UPDATE embeddings SET position = (SELECT position FROM vector_changes)
    WHERE owner = new.owner AND memory = new.number;
END
"""  # noqa: S608  # composed of constants

_ADDED: Final = """
CREATE TRIGGER embeddings_added AFTER INSERT ON memories
WHEN NOT new.is_sensitive AND new.deleted_at IS NULL BEGIN
    INSERT INTO embeddings (owner, memory, space_id)
    SELECT new.owner, new.number, id FROM spaces WHERE state <> 'retired';
END
"""
_IS_ANOTHER: Final = """
    (old.content <> new.content OR old.is_sensitive <> new.is_sensitive
        OR (old.deleted_at IS NULL) <> (new.deleted_at IS NULL))
"""
_OUTDATED: Final = f"""
CREATE TRIGGER embeddings_outdated BEFORE UPDATE OF content, is_sensitive, deleted_at ON memories
WHEN {_IS_ANOTHER} BEGIN
    DELETE FROM embeddings WHERE owner = old.owner AND memory = old.number;
END
"""  # noqa: S608  # composed of constants
_REPLACED: Final = f"""
CREATE TRIGGER embeddings_replaced AFTER UPDATE OF content, is_sensitive, deleted_at ON memories
WHEN {_IS_ANOTHER} AND NOT new.is_sensitive AND new.deleted_at IS NULL BEGIN
    INSERT INTO embeddings (owner, memory, space_id)
    SELECT new.owner, new.number, id FROM spaces WHERE state <> 'retired';
END
"""  # noqa: S608  # composed of constants

# The embeddings that hold words of a turn, or should: they become jobs again, in a new edition, so
# that a vector that is being made of the old words is refused.
_HOLDING: Final = """
    SELECT embedding FROM embedding_context WHERE owner = old.owner AND before = old.number
"""
_RENEW: Final = """
    UPDATE embeddings SET vector = NULL, context_hash = NULL, edition = edition + 1, attempts = 0,
        due_at = 0, last_error = NULL
    WHERE id IN ({which});
    DELETE FROM embedding_context WHERE embedding IN ({which});
"""
_OWN_CONTEXT: Final = """
    SELECT c.embedding FROM embedding_context c JOIN embeddings e ON e.id = c.embedding
    WHERE e.owner = old.owner AND e.memory = old.number
"""
_IS_MOVED: Final = """
    old.category = 'episode' AND (old.category <> new.category
        OR old.session IS NOT new.session OR old.project IS NOT new.project)
"""
_TURN_LEFT: Final = f"""
CREATE TRIGGER turn_left BEFORE UPDATE OF category, session, project ON memories
WHEN {_IS_MOVED} BEGIN
    {_RENEW.format(which=_HOLDING)}
    {_RENEW.format(which=_OWN_CONTEXT)}
END
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
_TURN_ARRIVED: Final = f"""
CREATE TRIGGER turn_arrived BEFORE UPDATE OF category, session, project ON memories
WHEN {_IS_MOVED} AND new.category = 'episode' AND new.deleted_at IS NULL AND NOT new.is_sensitive
    AND length(new.content) <= 300
BEGIN
    {_RENEW.format(which=_ARRIVED_AT)}
END
"""
_TURN_CHANGED: Final = f"""
CREATE TRIGGER turn_changed BEFORE UPDATE OF content, is_sensitive, deleted_at ON memories
WHEN old.category = 'episode' AND {_IS_ANOTHER} BEGIN
    {_RENEW.format(which=_HOLDING)}
END
"""
_TURN_ERASED: Final = f"""
CREATE TRIGGER turn_erased BEFORE DELETE ON memories BEGIN
    {_RENEW.format(which=_HOLDING)}
END
"""

_TABLES: Final[tuple[str, ...]] = (
    _SPACES,
    _ONE_ACTIVE,
    _ONE_FORMER,
    _EMBEDDINGS,
    _PENDING,
    _BY_POSITION,
    _TOKENS,
    _CONTEXT,
    _CONTEXT_OF,
    _CHANGES,
    _NO_CHANGES,
    _VECTOR_STORED,
    _PASSAGE_STORED,
    _VECTOR_CLEARED,
    _VECTOR_REMOVED,
    _SCOPE_CHANGED,
    _ADDED,
    _OUTDATED,
    _REPLACED,
    _TURN_LEFT,
    _TURN_ARRIVED,
    _TURN_CHANGED,
    _TURN_ERASED,
)
VECTORS: Final[tuple[str, ...]] = (_MEMORY_NUMBERS, _TURNS, *_TABLES)

_CREATED: Final = re.compile(r"CREATE (?:UNIQUE )?(TABLE|INDEX|TRIGGER) (\w+)")
RENEW_VECTORS: Final[tuple[str, ...]] = (
    "DELETE FROM concept_vectors",
    *(
        f"DROP {created[1]} IF EXISTS {created[2]}"
        for created in map(_CREATED.search, reversed(_TABLES))
        if created is not None
    ),
    *_TABLES,
)
"""Vectors are made again from the texts, so a change of their tables starts without any."""
