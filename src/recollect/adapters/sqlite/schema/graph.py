"""The concept graph in the local store: the tables and rules of the server's, in SQLite's words.

Whatever changes or erases a memory, the triggers leave nothing of it in the graph, in the same
transaction. SQLite knows no functions of its own, so a rule that both a trigger and the store apply
is a statement with places for its values (`weigh`, `settle`, `tidy`).
"""

from __future__ import annotations

from typing import Final

UNDATED: Final = -(2**62)
"""`said_from` of a statement that names no date: it is part of a key, where NULL equals nothing."""

_NOW: Final = "CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER)"

# compared_in: the space in which its name was compared with the others; NULL while it waits.
_CONCEPTS: Final = """
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
) STRICT, WITHOUT ROWID
"""
_WAITING: Final = """
CREATE INDEX concepts_waiting ON concepts (created_at, id) WHERE compared_in IS NULL
"""
# Every form a concept is known by, its own key too. One that was edited by hand outlives the edits
# of its memories, so that the decision still holds when the name comes back.
_NAMES: Final = """
CREATE TABLE concept_names (
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    concept_id TEXT NOT NULL,
    name TEXT NOT NULL,
    is_mended INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, key),
    FOREIGN KEY (owner, concept_id) REFERENCES concepts (owner, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID
"""
# sensitive: always 0, and part of the foreign key, so that SQLite itself refuses a row for a
# sensitive memory and refuses to leave one behind. The same for evidence and extractions.
_MENTIONS: Final = """
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
) STRICT, WITHOUT ROWID
"""
# True from valid_from until valid_to; believed from learned_at until known_until.
# stated_until: the end that a text names; a contradiction may make valid_to earlier.
# held: how many memories say so; the weight follows from it.
_EDGES: Final = """
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
) STRICT, WITHOUT ROWID
"""
# source_key, target_key: the names that the memory used. After a merge or a split they say where
# the edge belongs. said_from, said_until: the dates that the text names.
_EVIDENCE: Final = f"""
CREATE TABLE edge_evidence (
    owner TEXT NOT NULL,
    edge_id TEXT NOT NULL,
    memory INTEGER NOT NULL,
    source_key TEXT NOT NULL,
    target_key TEXT NOT NULL,
    stated_at INTEGER NOT NULL,
    withdrawn_at INTEGER,
    said_from INTEGER NOT NULL DEFAULT ({UNDATED}),
    said_until INTEGER,
    starts_at INTEGER NOT NULL GENERATED ALWAYS AS (
        CASE said_from WHEN {UNDATED} THEN stated_at ELSE said_from END) STORED,
    sensitive INTEGER NOT NULL DEFAULT 0 CHECK (sensitive = 0),
    PRIMARY KEY (owner, edge_id, memory, source_key, target_key, said_from),
    FOREIGN KEY (owner, edge_id) REFERENCES concept_edges (owner, id) ON DELETE CASCADE,
    FOREIGN KEY (owner, memory, sensitive) REFERENCES memories (owner, number, is_sensitive)
        ON DELETE CASCADE
) STRICT, WITHOUT ROWID
"""
_NEAR: Final = """
CREATE TABLE near_concepts (
    owner TEXT NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    similarity REAL NOT NULL,
    PRIMARY KEY (owner, source, target),
    FOREIGN KEY (owner, source) REFERENCES concepts (owner, id) ON DELETE CASCADE,
    FOREIGN KEY (owner, target) REFERENCES concepts (owner, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID
"""
_VERSIONS: Final = """
CREATE TABLE graph_versions (
    owner TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL
) STRICT, WITHOUT ROWID
"""
# extracted_by grows with the reader's worth: 0 before the first. due_at: not claimed before; pushed
# on by a claim and by a failure. answer: what a language model said of the text whose hash is
# `ticket`, so that it is not asked again.
_EXTRACTIONS: Final = """
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
) STRICT, WITHOUT ROWID
"""
_ANSWERED: Final = """
CREATE INDEX extractions_answered ON extractions (owner, ticket) WHERE answer IS NOT NULL
"""
_BUDGET: Final = """
CREATE TABLE extraction_budget (
    day TEXT NOT NULL PRIMARY KEY,
    calls INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID
"""
# The vectors of concepts' names. A changed one gets a new number, so that only new ones are read.
_VECTORS: Final = """
CREATE TABLE concept_vectors (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    concept_id TEXT NOT NULL,
    space_id INTEGER NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (owner, concept_id, space_id),
    FOREIGN KEY (owner, concept_id) REFERENCES concepts (owner, id) ON DELETE CASCADE
) STRICT
"""

GROW: Final = """
INSERT INTO graph_versions (owner, version) VALUES ({owner}, 1)
ON CONFLICT (owner) DO UPDATE SET version = version + 1
"""
"""The version of an owner's graph grows."""

WEIGH: Final = """
UPDATE concept_edges SET held = e.held, learned_at = e.learned, valid_from = e.start,
    stated_until = e.until, known_until = CASE e.held WHEN 0 THEN e.withdrawn END,
    valid_to = CASE WHEN is_single THEN coalesce(min(valid_to, e.until), valid_to, e.until)
        ELSE e.until END
FROM (
    SELECT count(DISTINCT CASE WHEN s.withdrawn_at IS NULL THEN s.memory END) AS held,
        max(s.withdrawn_at) AS withdrawn, min(s.starts_at) AS start,
        (SELECT min(a.stated_at) FROM edge_evidence a
            WHERE a.owner = {owner} AND a.edge_id = {edge}) AS learned,
        CASE WHEN max(CASE WHEN s.said_until IS NULL THEN s.starts_at END) >= max(s.said_until)
            THEN NULL ELSE max(s.said_until) END AS until
    FROM edge_evidence s
    WHERE s.owner = {owner} AND s.edge_id = {edge} AND (s.withdrawn_at IS NULL OR NOT EXISTS (
        SELECT 1 FROM edge_evidence h
        WHERE h.owner = {owner} AND h.edge_id = {edge} AND h.withdrawn_at IS NULL))
    GROUP BY s.edge_id
) e
WHERE owner = {owner} AND id = {edge}
"""
"""After evidence came or went: an edge whose texts were all changed is no longer believed. Its
dates are those of what is still said, or else of what was: from the first start until the last end
that a text names, unless it is said to begin again after that.
"""

UNSAID: Final = """
    owner = {owner} AND id = {edge} AND NOT EXISTS (
        SELECT 1 FROM edge_evidence e WHERE e.owner = {owner} AND e.edge_id = {edge})
"""
"""That an edge has no evidence at all: then it is deleted."""

SETTLE: Final = """
UPDATE concept_edges SET valid_to = coalesce(min(stated_until, p.next), stated_until, p.next)
FROM (
    SELECT c.id AS settled, lead(c.valid_from) OVER (
        ORDER BY c.valid_from, c.learned_at, t.key, c.id) AS next
    FROM concept_edges c JOIN concepts t ON t.owner = c.owner AND t.id = c.target
    WHERE c.owner = {owner} AND c.source = {source} AND c.relation = {relation}
        AND c.is_single AND c.known_until IS NULL AND c.source <> c.target
) p
WHERE owner = {owner} AND id = p.settled
"""
"""In a single-valued relation each edge ends where the next begins. One that leads back to where it
starts, because two names were merged, says nothing and ends nothing.
"""

_UNUSED: Final = """
    NOT EXISTS (SELECT 1 FROM memory_concepts m
        WHERE m.owner = concept_names.owner AND m.key = concept_names.key)
    AND NOT EXISTS (SELECT 1 FROM edge_evidence e
        WHERE e.owner = concept_names.owner AND e.source_key = concept_names.key)
    AND NOT EXISTS (SELECT 1 FROM edge_evidence e
        WHERE e.owner = concept_names.owner AND e.target_key = concept_names.key)
"""
TIDY: Final = f"""
DELETE FROM concept_names WHERE owner = {{owner}} AND key = {{key}} AND NOT is_mended AND {_UNUSED}
"""  # noqa: S608  # composed of constants
"""A name that no text uses any more is deleted, unless it was edited by hand."""

# Which text such a name came from is not known any more: with an erasure all that no text uses go.
_TIDY_MENDED: Final = f"""
DELETE FROM concept_names WHERE owner = old.owner AND is_mended AND {_UNUSED}
"""  # noqa: S608  # composed of constants
# With its last name a concept goes; one that loses the name it was shown by is shown by another.
_NAME_GONE: Final = """
CREATE TRIGGER graph_name_gone AFTER DELETE ON concept_names BEGIN
    DELETE FROM concepts WHERE owner = old.owner AND id = old.concept_id AND NOT EXISTS (
        SELECT 1 FROM concept_names n WHERE n.owner = old.owner AND n.concept_id = old.concept_id);
    UPDATE concepts SET (key, name) = (
        SELECT n.key, n.name FROM concept_names n
        WHERE n.owner = old.owner AND n.concept_id = old.concept_id
        ORDER BY n.is_mended DESC, n.key LIMIT 1)
    WHERE owner = old.owner AND id = old.concept_id AND key = old.key;
END
"""
_UNMENTIONED: Final = f"""
CREATE TRIGGER graph_unmentioned AFTER DELETE ON memory_concepts BEGIN
    {TIDY.format(owner="old.owner", key="old.key")};
    {GROW.format(owner="old.owner")};
END
"""
_EDGE_OF_OLD: Final = {"owner": "old.owner", "edge": "old.edge_id"}
_SETTLE_OLD: Final = SETTLE.format(
    owner="old.owner",
    source="(SELECT source FROM concept_edges WHERE owner = old.owner AND id = old.edge_id)",
    relation="(SELECT relation FROM concept_edges WHERE owner = old.owner AND id = old.edge_id)",
)
# An edge without evidence ends nothing any more, and only then is deleted: settling asks it which
# relation it was of.
_EVIDENCE_GONE: Final = f"""
CREATE TRIGGER graph_unsaid AFTER DELETE ON edge_evidence BEGIN
    {WEIGH.format(**_EDGE_OF_OLD)};
    UPDATE concept_edges SET known_until = learned_at WHERE {UNSAID.format(**_EDGE_OF_OLD)};
    {_SETTLE_OLD};
    DELETE FROM concept_edges WHERE {UNSAID.format(**_EDGE_OF_OLD)};
    {TIDY.format(owner="old.owner", key="old.source_key")};
    {TIDY.format(owner="old.owner", key="old.target_key")};
    {GROW.format(owner="old.owner")};
END
"""  # noqa: S608  # composed of constants
_WITHDRAWN: Final = f"""
CREATE TRIGGER graph_withdrawn AFTER UPDATE OF withdrawn_at ON edge_evidence
WHEN new.withdrawn_at IS NOT NULL BEGIN
    {WEIGH.format(**_EDGE_OF_OLD)};
    {_SETTLE_OLD};
    {GROW.format(owner="old.owner")};
END
"""

ADD_EXTRACTIONS: Final = """
INSERT INTO extractions (owner, memory)
SELECT owner, number FROM memories WHERE NOT is_sensitive AND deleted_at IS NULL
"""
"""For the memories of a store that had no graph."""

_ADDED: Final = """
CREATE TRIGGER graph_added AFTER INSERT ON memories
WHEN NOT new.is_sensitive AND new.deleted_at IS NULL BEGIN
    INSERT INTO extractions (owner, memory) VALUES (new.owner, new.number);
END
"""
_IS_ANOTHER: Final = """
    (old.content <> new.content OR old.tags <> new.tags OR old.is_sensitive <> new.is_sensitive
        OR old.expanded_keywords <> new.expanded_keywords
        OR (old.deleted_at IS NULL) <> (new.deleted_at IS NULL))
"""
_READ_COLUMNS: Final = "content, tags, expanded_keywords, is_sensitive, deleted_at"
# When a memory is edited its evidence stays, as what was once said.
_OUTDATED: Final = f"""
CREATE TRIGGER graph_outdated BEFORE UPDATE OF {_READ_COLUMNS} ON memories
WHEN {_IS_ANOTHER} AND NOT new.is_sensitive BEGIN
    DELETE FROM extractions WHERE owner = old.owner AND memory = old.number;
    UPDATE edge_evidence SET withdrawn_at = {_NOW}
    WHERE owner = old.owner AND memory = old.number AND withdrawn_at IS NULL;
    DELETE FROM memory_concepts WHERE owner = old.owner AND memory = old.number;
END
"""  # noqa: S608  # composed of constants
# Of a memory that is erased or becomes sensitive nothing stays.
_LEAVE: Final = f"""
    DELETE FROM extractions WHERE owner = old.owner AND memory = old.number;
    DELETE FROM edge_evidence WHERE owner = old.owner AND memory = old.number;
    DELETE FROM memory_concepts WHERE owner = old.owner AND memory = old.number;
    {_TIDY_MENDED};
"""  # noqa: S608  # composed of constants
_HIDDEN: Final = f"""
CREATE TRIGGER graph_hidden BEFORE UPDATE OF {_READ_COLUMNS} ON memories
WHEN {_IS_ANOTHER} AND new.is_sensitive BEGIN
    {_LEAVE}
END
"""
_ERASED: Final = f"""
CREATE TRIGGER graph_erased BEFORE DELETE ON memories BEGIN
    {_LEAVE}
END
"""
_REPLACED: Final = f"""
CREATE TRIGGER graph_replaced AFTER UPDATE OF {_READ_COLUMNS} ON memories
WHEN {_IS_ANOTHER} AND NOT new.is_sensitive AND new.deleted_at IS NULL BEGIN
    INSERT INTO extractions (owner, memory) VALUES (new.owner, new.number);
END
"""  # noqa: S608  # composed of constants

GRAPH: Final[tuple[str, ...]] = (
    _CONCEPTS,
    _WAITING,
    _NAMES,
    "CREATE INDEX concept_names_of ON concept_names (owner, concept_id)",
    "CREATE INDEX concept_names_mended ON concept_names (owner) WHERE is_mended",
    _MENTIONS,
    "CREATE INDEX memory_concepts_of ON memory_concepts (owner, concept_id, memory)",
    "CREATE INDEX memory_concepts_by_key ON memory_concepts (owner, key)",
    _EDGES,
    "CREATE INDEX concept_edges_from ON concept_edges (owner, source, relation, target)",
    "CREATE INDEX concept_edges_to ON concept_edges (owner, target)",
    _EVIDENCE,
    "CREATE INDEX edge_evidence_of ON edge_evidence (owner, memory)",
    "CREATE INDEX edge_evidence_from ON edge_evidence (owner, source_key)",
    "CREATE INDEX edge_evidence_to ON edge_evidence (owner, target_key)",
    _NEAR,
    "CREATE INDEX near_concepts_to ON near_concepts (owner, target)",
    _VERSIONS,
    _EXTRACTIONS,
    "CREATE INDEX extractions_pending ON extractions (extracted_by, due_at)",
    _ANSWERED,
    _BUDGET,
    _VECTORS,
    _NAME_GONE,
    _UNMENTIONED,
    _EVIDENCE_GONE,
    _WITHDRAWN,
    _ADDED,
    _OUTDATED,
    _HIDDEN,
    _ERASED,
    _REPLACED,
    ADD_EXTRACTIONS,
)
