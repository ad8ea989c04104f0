-- Proposals and the journal in the local store: the server's tables, in SQLite's words.

-- A pair of memories has one proposal. The versions are those that were compared: when one of them
-- is no longer current, an undecided proposal is void, and the pair may be proposed again.
-- sensitive: as for the graph, SQLite itself refuses a proposal about a sensitive memory.
CREATE TABLE proposals (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    newer INTEGER NOT NULL,
    older INTEGER NOT NULL,
    newer_version INTEGER NOT NULL,
    older_version INTEGER NOT NULL,
    newer_quote TEXT NOT NULL,
    older_quote TEXT NOT NULL,
    reason TEXT NOT NULL,
    confidence REAL NOT NULL,
    decided_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'later', 'accepted', 'rejected')),
    sensitive INTEGER NOT NULL DEFAULT 0 CHECK (sensitive = 0),
    PRIMARY KEY (owner, id),
    UNIQUE (owner, newer, older),
    FOREIGN KEY (owner, newer, sensitive) REFERENCES memories (owner, number, is_sensitive)
        ON DELETE CASCADE,
    FOREIGN KEY (owner, older, sensitive) REFERENCES memories (owner, number, is_sensitive)
        ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX proposals_of_older ON proposals (owner, older);

CREATE TRIGGER proposals_hidden BEFORE UPDATE OF is_sensitive ON memories
WHEN new.is_sensitive AND NOT old.is_sensitive BEGIN
    DELETE FROM proposals WHERE owner = old.owner AND newer = old.number;
    DELETE FROM proposals WHERE owner = old.owner AND older = old.number;
END;

-- Accepted proposals. addition: what the survivor gained besides its link, as JSON, for undo.
CREATE TABLE curation_journal (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    proposal TEXT NOT NULL,
    kind TEXT NOT NULL,
    survivor TEXT NOT NULL,
    superseded TEXT NOT NULL,
    addition TEXT NOT NULL,
    accepted_by TEXT NOT NULL,
    accepted_at INTEGER NOT NULL,
    undone_at INTEGER,
    PRIMARY KEY (owner, id),
    FOREIGN KEY (owner, survivor) REFERENCES memories (owner, id) ON DELETE CASCADE,
    FOREIGN KEY (owner, superseded) REFERENCES memories (owner, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX curation_journal_of ON curation_journal (owner, survivor);
CREATE INDEX curation_journal_about ON curation_journal (owner, superseded);

-- Which version of a memory was examined last.
CREATE TABLE examined (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (owner, id),
    FOREIGN KEY (owner, id) REFERENCES memories (owner, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- How often the language model was asked, by day.
CREATE TABLE curation_budget (day TEXT NOT NULL PRIMARY KEY, calls INTEGER NOT NULL)
STRICT, WITHOUT ROWID;
