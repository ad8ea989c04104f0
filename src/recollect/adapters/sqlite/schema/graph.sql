-- The concept graph in the local store: the tables and rules of the server's, in SQLite's words.
-- Whatever changes or erases a memory, the triggers leave nothing of it in the graph, in the same
-- transaction.

-- compared_in: the space in which its name was compared with the others; NULL while it waits.
CREATE TABLE concepts (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    compared_in INTEGER,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (owner, id),
    UNIQUE (owner, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX concepts_waiting ON concepts (created_at, id) WHERE compared_in IS NULL;

-- Every form a concept is known by, its own key too. One that was edited by hand outlives the edits
-- of its memories, so that the decision still holds when the name comes back.
CREATE TABLE concept_names (
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    concept_id TEXT NOT NULL,
    name TEXT NOT NULL,
    is_mended INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, key),
    FOREIGN KEY (owner, concept_id) REFERENCES concepts (owner, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX concept_names_of ON concept_names (owner, concept_id);
CREATE INDEX concept_names_mended ON concept_names (owner) WHERE is_mended;

-- sensitive: always 0, and part of the foreign key, so that SQLite itself refuses a row for a
-- sensitive memory and refuses to leave one behind. The same for evidence and extractions.
CREATE TABLE memory_concepts (
    owner TEXT NOT NULL,
    memory INTEGER NOT NULL,
    key TEXT NOT NULL,
    concept_id TEXT NOT NULL,
    sensitive INTEGER NOT NULL DEFAULT 0 CHECK (sensitive = 0),
    PRIMARY KEY (owner, memory, key),
    FOREIGN KEY (owner, concept_id) REFERENCES concepts (owner, id) ON DELETE CASCADE,
    FOREIGN KEY (owner, memory, sensitive) REFERENCES memories (owner, number, is_sensitive)
        ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX memory_concepts_of ON memory_concepts (owner, concept_id, memory);
CREATE INDEX memory_concepts_by_key ON memory_concepts (owner, key);

-- True from valid_from until valid_to; believed from learned_at until known_until.
-- stated_until: the end that a text names; a contradiction may make valid_to earlier.
-- held: how many memories say so; the weight follows from it.
CREATE TABLE concept_edges (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    relation TEXT NOT NULL,
    is_single INTEGER NOT NULL DEFAULT 0,
    held INTEGER NOT NULL DEFAULT 1,
    valid_from INTEGER NOT NULL,
    valid_to INTEGER,
    stated_until INTEGER,
    learned_at INTEGER NOT NULL,
    known_until INTEGER,
    PRIMARY KEY (owner, id),
    FOREIGN KEY (owner, source) REFERENCES concepts (owner, id) ON DELETE CASCADE,
    FOREIGN KEY (owner, target) REFERENCES concepts (owner, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX concept_edges_from ON concept_edges (owner, source, relation, target);
CREATE INDEX concept_edges_to ON concept_edges (owner, target);

-- source_key, target_key: the names that the memory used. After a merge or a split they say where
-- the edge belongs. said_from, said_until: the dates that the text names.
CREATE TABLE edge_evidence (
    owner TEXT NOT NULL,
    edge_id TEXT NOT NULL,
    memory INTEGER NOT NULL,
    source_key TEXT NOT NULL,
    target_key TEXT NOT NULL,
    stated_at INTEGER NOT NULL,
    withdrawn_at INTEGER,
    said_from INTEGER NOT NULL DEFAULT ($undated),
    said_until INTEGER,
    starts_at INTEGER NOT NULL GENERATED ALWAYS AS (
        CASE said_from WHEN $undated THEN stated_at ELSE said_from END) STORED,
    sensitive INTEGER NOT NULL DEFAULT 0 CHECK (sensitive = 0),
    PRIMARY KEY (owner, edge_id, memory, source_key, target_key, said_from),
    FOREIGN KEY (owner, edge_id) REFERENCES concept_edges (owner, id) ON DELETE CASCADE,
    FOREIGN KEY (owner, memory, sensitive) REFERENCES memories (owner, number, is_sensitive)
        ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX edge_evidence_of ON edge_evidence (owner, memory);
CREATE INDEX edge_evidence_from ON edge_evidence (owner, source_key);
CREATE INDEX edge_evidence_to ON edge_evidence (owner, target_key);

CREATE TABLE near_concepts (
    owner TEXT NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    similarity REAL NOT NULL,
    PRIMARY KEY (owner, source, target),
    FOREIGN KEY (owner, source) REFERENCES concepts (owner, id) ON DELETE CASCADE,
    FOREIGN KEY (owner, target) REFERENCES concepts (owner, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX near_concepts_to ON near_concepts (owner, target);

CREATE TABLE graph_versions (
    owner TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- extracted_by is the reader's level: 0 before the first. due_at: not claimed before; pushed
-- on by a claim and by a failure. answer: what a language model said of the text whose hash is
-- `ticket`, so that it is not asked again.
CREATE TABLE extractions (
    owner TEXT NOT NULL,
    memory INTEGER NOT NULL,
    sensitive INTEGER NOT NULL DEFAULT 0 CHECK (sensitive = 0),
    extracted_by INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    answer TEXT,
    answered_by TEXT,
    ticket TEXT,
    PRIMARY KEY (owner, memory),
    FOREIGN KEY (owner, memory, sensitive) REFERENCES memories (owner, number, is_sensitive)
        ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX extractions_pending ON extractions (extracted_by, due_at);
CREATE INDEX extractions_answered ON extractions (owner, ticket) WHERE answer IS NOT NULL;

CREATE TABLE extraction_budget (
    day TEXT NOT NULL PRIMARY KEY,
    calls INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- The vectors of concepts' names. A changed one gets a new number, so that only new ones are read.
CREATE TABLE concept_vectors (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    concept_id TEXT NOT NULL,
    space_id INTEGER NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (owner, concept_id, space_id),
    FOREIGN KEY (owner, concept_id) REFERENCES concepts (owner, id) ON DELETE CASCADE
) STRICT;

-- With its last name a concept goes; one that loses the name it was shown by is shown by another.
CREATE TRIGGER graph_name_gone AFTER DELETE ON concept_names BEGIN
    DELETE FROM concepts WHERE owner = old.owner AND id = old.concept_id AND NOT EXISTS (
        SELECT 1 FROM concept_names n WHERE n.owner = old.owner AND n.concept_id = old.concept_id);
    UPDATE concepts SET (key, name) = (
        SELECT n.key, n.name FROM concept_names n
        WHERE n.owner = old.owner AND n.concept_id = old.concept_id
        ORDER BY n.is_mended DESC, n.key LIMIT 1)
    WHERE owner = old.owner AND id = old.concept_id AND key = old.key;
END;

CREATE TRIGGER graph_unmentioned AFTER DELETE ON memory_concepts BEGIN
    $tidy_key;
    $grow;
END;

-- An edge without evidence ends nothing any more, and only then is deleted: settling asks it which
-- relation it was of.
CREATE TRIGGER graph_unsaid AFTER DELETE ON edge_evidence BEGIN
    $weigh;
    UPDATE concept_edges SET known_until = learned_at WHERE $unsaid;
    $settle;
    DELETE FROM concept_edges WHERE $unsaid;
    $tidy_source;
    $tidy_target;
    $grow;
END;

CREATE TRIGGER graph_withdrawn AFTER UPDATE OF withdrawn_at ON edge_evidence
WHEN new.withdrawn_at IS NOT NULL BEGIN
    $weigh;
    $settle;
    $grow;
END;

CREATE TRIGGER graph_added AFTER INSERT ON memories
WHEN NOT new.is_sensitive AND new.deleted_at IS NULL BEGIN
    INSERT INTO extractions (owner, memory) VALUES (new.owner, new.number);
END;

-- When a memory is edited its evidence stays, as what was once said.
CREATE TRIGGER graph_outdated BEFORE UPDATE OF content, tags, expanded_keywords,
    is_sensitive, deleted_at ON memories
WHEN $is_another AND NOT new.is_sensitive BEGIN
    DELETE FROM extractions WHERE owner = old.owner AND memory = old.number;
    UPDATE edge_evidence SET withdrawn_at = $now
    WHERE owner = old.owner AND memory = old.number AND withdrawn_at IS NULL;
    DELETE FROM memory_concepts WHERE owner = old.owner AND memory = old.number;
END;

CREATE TRIGGER graph_hidden BEFORE UPDATE OF content, tags, expanded_keywords,
    is_sensitive, deleted_at ON memories
WHEN $is_another AND new.is_sensitive BEGIN
    $leave
END;

CREATE TRIGGER graph_erased BEFORE DELETE ON memories BEGIN
    $leave
END;

CREATE TRIGGER graph_replaced AFTER UPDATE OF content, tags, expanded_keywords,
    is_sensitive, deleted_at ON memories
WHEN $is_another AND NOT new.is_sensitive AND new.deleted_at IS NULL BEGIN
    INSERT INTO extractions (owner, memory) VALUES (new.owner, new.number);
END;

-- For the memories of a store that had no graph.
INSERT INTO extractions (owner, memory)
SELECT owner, number FROM memories WHERE NOT is_sensitive AND deleted_at IS NULL;
