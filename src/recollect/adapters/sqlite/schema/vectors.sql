-- Spaces and embeddings in the local store, with the guarantees of the server's tables.
-- An embedding without a vector is a job (docs/adr/0008). Its foreign key carries a column that is
-- always 0, so that SQLite itself refuses a row for a sensitive memory and refuses to leave one
-- behind. The triggers remove a vector in the transaction that changes what it was made from.

-- What the foreign keys of embeddings and of the graph refer to.
CREATE UNIQUE INDEX memories_by_number ON memories (owner, number, is_sensitive);

-- The turns of a conversation in their order.
CREATE INDEX memories_turns ON memories (owner, session, created_at, id)
WHERE category = 'episode' AND deleted_at IS NULL;

-- is_former: the space that `recollect reembed --rollback` goes back to.
-- swept_to: the highest memory number that was looked at for missing rows; NULL when all were.
-- AUTOINCREMENT: the id of a dropped space is not used again.
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
) STRICT;

CREATE UNIQUE INDEX spaces_active ON spaces (state) WHERE state = 'active';
CREATE UNIQUE INDEX spaces_former ON spaces (is_former) WHERE is_former;

-- One row for each passage of a text; most texts have one. A row without a vector is a job, always
-- of the first passage, number 0: the others are added with their vectors, and hold no other
-- memory's words. start_char, end_char: NULL where the text is a single passage.
-- A changed text gets a new row, and other words around it a new edition: that tells a worker
-- whether what it claimed is still present, for an id is never used again. due_at: not claimed
-- before; pushed on by a claim and by a failure. context_hash: of the turns that are embedded with a
-- turn. position: when the vector, or what a scope asks of its memory, last changed
-- (`vector_changes`).
-- Memories by number, not by id: so five rows fit a page instead of four.
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
) STRICT;

CREATE INDEX embeddings_pending ON embeddings (space_id, due_at, id) WHERE vector IS NULL;

CREATE INDEX embeddings_by_position ON embeddings (owner, space_id, position)
WHERE vector IS NOT NULL;

-- The token vectors of a passage, beside its vector: there only as long as that one is, so never for
-- a sensitive memory.
CREATE TABLE token_vectors (
    embedding INTEGER PRIMARY KEY REFERENCES embeddings (id) ON DELETE CASCADE,
    block BLOB NOT NULL
) STRICT;

-- Which turns' words are in whose vector.
CREATE TABLE embedding_context (
    owner TEXT NOT NULL,
    before INTEGER NOT NULL,
    embedding INTEGER NOT NULL REFERENCES embeddings (id) ON DELETE CASCADE,
    sensitive INTEGER NOT NULL DEFAULT 0 CHECK (sensitive = 0),
    PRIMARY KEY (owner, before, embedding),
    FOREIGN KEY (owner, before, sensitive) REFERENCES memories (owner, number, is_sensitive)
) STRICT, WITHOUT ROWID;

CREATE INDEX embedding_context_of ON embedding_context (embedding);

-- What a matrix in memory compares itself with, in its one row: how many changes vectors had, and
-- how many were removed.
CREATE TABLE vector_changes (
    number INTEGER PRIMARY KEY CHECK (number = 1),
    position INTEGER NOT NULL,
    removed INTEGER NOT NULL
) STRICT;

INSERT INTO vector_changes (position, removed) VALUES (0, 0);

CREATE TRIGGER vector_stored AFTER UPDATE OF vector ON embeddings WHEN new.vector IS NOT NULL BEGIN
    UPDATE vector_changes SET position = position + 1;
    UPDATE embeddings SET position = (SELECT position FROM vector_changes) WHERE id = new.id;
END;

CREATE TRIGGER passage_stored AFTER INSERT ON embeddings WHEN new.vector IS NOT NULL BEGIN
    UPDATE vector_changes SET position = position + 1;
    UPDATE embeddings SET position = (SELECT position FROM vector_changes) WHERE id = new.id;
END;

CREATE TRIGGER vector_cleared AFTER UPDATE OF vector ON embeddings
WHEN old.vector IS NOT NULL AND new.vector IS NULL BEGIN
    UPDATE vector_changes SET removed = removed + 1;
    DELETE FROM token_vectors WHERE embedding = new.id;
END;

CREATE TRIGGER vector_removed AFTER DELETE ON embeddings WHEN old.vector IS NOT NULL BEGIN
    UPDATE vector_changes SET removed = removed + 1;
END;

CREATE TRIGGER vector_scope_changed AFTER UPDATE OF category, project, session, created_at,
    valid_from, valid_until
ON memories WHEN old.category <> new.category OR old.project IS NOT new.project
    OR old.session IS NOT new.session OR old.created_at <> new.created_at
    OR old.valid_from IS NOT new.valid_from OR old.valid_until IS NOT new.valid_until
BEGIN
    UPDATE vector_changes SET position = position + 1;
    UPDATE embeddings SET position = (SELECT position FROM vector_changes)
    WHERE owner = new.owner AND memory = new.number;
END;

CREATE TRIGGER embeddings_added AFTER INSERT ON memories
WHEN NOT new.is_sensitive AND new.deleted_at IS NULL BEGIN
    INSERT INTO embeddings (owner, memory, space_id)
    SELECT new.owner, new.number, id FROM spaces WHERE state <> 'retired';
END;

CREATE TRIGGER embeddings_outdated BEFORE UPDATE OF content, is_sensitive, deleted_at ON memories
WHEN $is_another BEGIN
    DELETE FROM embeddings WHERE owner = old.owner AND memory = old.number;
END;

CREATE TRIGGER embeddings_replaced AFTER UPDATE OF content, is_sensitive, deleted_at ON memories
WHEN $is_another AND NOT new.is_sensitive AND new.deleted_at IS NULL BEGIN
    INSERT INTO embeddings (owner, memory, space_id)
    SELECT new.owner, new.number, id FROM spaces WHERE state <> 'retired';
END;

CREATE TRIGGER turn_left BEFORE UPDATE OF category, session, project ON memories
WHEN $is_moved BEGIN
    $renew_holding
    $renew_own
END;

CREATE TRIGGER turn_arrived BEFORE UPDATE OF category, session, project ON memories
WHEN $is_moved AND new.category = 'episode' AND new.deleted_at IS NULL AND NOT new.is_sensitive
    AND length(new.content) <= 300
BEGIN
    $renew_arrived
END;

CREATE TRIGGER turn_changed BEFORE UPDATE OF content, is_sensitive, deleted_at ON memories
WHEN old.category = 'episode' AND $is_another BEGIN
    $renew_holding
END;

CREATE TRIGGER turn_erased BEFORE DELETE ON memories BEGIN
    $renew_holding
END;
