-- `number` ties a memory to its entry in the word index; being declared, it survives a VACUUM.
-- The content is the last of the fields: a scope is then checked without reading it. `extra`: fields
-- that a newer peer sent, as JSON. The terms are what the memory is found by, as core/text/terms.py
-- analyzed it: by which version, and in which languages.
CREATE TABLE memories (
    number INTEGER PRIMARY KEY,
    analyzer INTEGER NOT NULL,
    languages TEXT NOT NULL,
    $fields,
    extra TEXT NOT NULL DEFAULT '{}',
    content_terms TEXT NOT NULL,
    keyword_terms TEXT NOT NULL,
    tag_terms TEXT NOT NULL,
    category_terms TEXT NOT NULL,
    UNIQUE (owner, id)
) STRICT;

CREATE INDEX memories_by_age ON memories (owner, created_at, id) WHERE deleted_at IS NULL;

-- Which projects there are; a listing of one of them comes in its order.
CREATE INDEX memories_by_project ON memories (owner, project, created_at, id)
WHERE deleted_at IS NULL AND project IS NOT NULL;

CREATE INDEX memories_by_beginning ON memories (owner, $beginning)
WHERE deleted_at IS NULL AND category <> 'episode';

-- Which languages an owner's memories are in, one step of the index for each.
CREATE INDEX memories_by_languages ON memories (owner, languages) WHERE deleted_at IS NULL;

-- The few that expire.
CREATE INDEX memories_by_expiry ON memories (owner, valid_until)
WHERE deleted_at IS NULL AND valid_until IS NOT NULL;

-- What short ids are looked up by.
CREATE INDEX memories_by_ending ON memories (owner, substr(id, -4));

CREATE INDEX memories_by_analyzer ON memories (analyzer);
CREATE TABLE settings (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT;

-- Values as JSON; `old_value` is NULL where the default held.
CREATE TABLE settings_audit (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    old_value TEXT,
    new_value TEXT NOT NULL,
    changed_by TEXT NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;

-- What the word index indexes: memories that are not forgotten. The triggers, FTS5's own rebuild and
-- its integrity check all read this view, so they cannot disagree.
CREATE VIEW searchable AS SELECT
    number, content_terms AS content, keyword_terms AS expanded_keywords, tag_terms AS tags,
    category_terms AS category
FROM memories WHERE deleted_at IS NULL;

CREATE VIRTUAL TABLE memory_words USING fts5(
    content, expanded_keywords, tags, category,
    content='searchable', content_rowid='number', $tokenizer
);

CREATE TRIGGER index_added AFTER INSERT ON memories BEGIN
    INSERT INTO memory_words (rowid, content, expanded_keywords, tags, category)
    SELECT number, content, expanded_keywords, tags, category
    FROM searchable WHERE number = new.number;
END;

-- FTS5 deletes an entry by its original text. Before the change, the view still shows the old row.
CREATE TRIGGER unindex_changed BEFORE UPDATE ON memories BEGIN
    INSERT INTO memory_words
        (memory_words, rowid, content, expanded_keywords, tags, category)
    SELECT 'delete', number, content, expanded_keywords, tags, category
    FROM searchable WHERE number = old.number;
END;

CREATE TRIGGER index_changed AFTER UPDATE ON memories BEGIN
    INSERT INTO memory_words (rowid, content, expanded_keywords, tags, category)
    SELECT number, content, expanded_keywords, tags, category
    FROM searchable WHERE number = new.number;
END;

CREATE TRIGGER unindex_erased BEFORE DELETE ON memories BEGIN
    INSERT INTO memory_words
        (memory_words, rowid, content, expanded_keywords, tags, category)
    SELECT 'delete', number, content, expanded_keywords, tags, category
    FROM searchable WHERE number = old.number;
END;

-- Sync. The triggers keep the outbox, so that no writer can forget it and a write and its outbox row
-- are one transaction. They also run where no server is named: one that is named later gets
-- everything.

-- Which server this store belongs to, how far it has pulled, and what stopped the last sync.
CREATE TABLE sync_link (
    owner TEXT NOT NULL PRIMARY KEY,
    store TEXT NOT NULL,
    server TEXT,
    remote_owner TEXT,
    cursor INTEGER NOT NULL DEFAULT 0,
    last_sync_at INTEGER,
    last_error TEXT,
    remedy TEXT,
    key_refused INTEGER NOT NULL DEFAULT 0,
    epoch TEXT
) STRICT;

-- What the server last said of a memory. withheld: it is sensitive and not shown; 2: and forgotten.
-- gone: it is erased; kept until the cursor is past that, so that a page read before it does not
-- bring the memory back.
CREATE TABLE synced (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    change INTEGER NOT NULL,
    withheld INTEGER NOT NULL,
    gone INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

-- edit: the id of the current attempt; earlier: that of an attempt before, which may or may not have
-- arrived. parked_version: the version that the server refused.
CREATE TABLE outbox (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    erased INTEGER NOT NULL,
    edit TEXT,
    earlier TEXT,
    parked TEXT,
    remedy TEXT,
    parked_version INTEGER,
    UNIQUE (owner, id)
) STRICT;

-- base: what a waiting change was made from; sent: what was sent and not answered yet.
CREATE TABLE states (
    role TEXT NOT NULL,
    $fields,
    extra TEXT NOT NULL,
    PRIMARY KEY (owner, id, role)
) STRICT;

-- unsent: 1 while it waits to be sent; 2 if it is kept only here, because the server did not keep it,
-- or because it was sensitive when it lost, even if its memory has changed since.
CREATE TABLE revisions (
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    fields TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    resolved_at INTEGER,
    unsent INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT;

CREATE TRIGGER outbox_added AFTER INSERT ON memories BEGIN
    INSERT INTO outbox (id, owner, erased) VALUES (new.id, new.owner, 0)
    ON CONFLICT (owner, id) DO UPDATE SET erased = 0;
END;

-- What the server never saw leaves no row; otherwise its erasure waits to be sent, without its text.
CREATE TRIGGER outbox_erased AFTER DELETE ON memories BEGIN
    DELETE FROM states WHERE owner = old.owner AND id = old.id;
    DELETE FROM revisions WHERE owner = old.owner AND memory_id = old.id;
    DELETE FROM outbox
    WHERE owner = old.owner AND id = old.id AND edit IS NULL AND earlier IS NULL
        AND NOT EXISTS (SELECT 1 FROM synced WHERE owner = old.owner AND id = old.id);
    UPDATE outbox SET erased = 1, parked = NULL, remedy = NULL, parked_version = NULL
    WHERE owner = old.owner AND id = old.id;
    INSERT INTO outbox (id, owner, erased) SELECT old.id, old.owner, 1 FROM synced
    WHERE owner = old.owner AND id = old.id
        AND NOT EXISTS (SELECT 1 FROM outbox WHERE owner = old.owner AND id = old.id);
END;

-- The side table that finds links from their other end.
CREATE TABLE memory_links (
    owner TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (owner, memory_id, kind, target)
) STRICT, WITHOUT ROWID;

CREATE INDEX memory_successors ON memory_links (owner, target, memory_id)
WHERE kind = 'supersedes';

CREATE TRIGGER links_added AFTER INSERT ON memories WHEN new.links <> '[]' BEGIN
    DELETE FROM memory_links WHERE owner = new.owner AND memory_id = new.id;
    INSERT OR IGNORE INTO memory_links (owner, memory_id, kind, target)
    SELECT new.owner, new.id, value ->> 'kind', value ->> 'target' FROM json_each(new.links);
END;

CREATE TRIGGER links_changed AFTER UPDATE OF links ON memories WHEN new.links <> old.links BEGIN
    DELETE FROM memory_links WHERE owner = new.owner AND memory_id = new.id;
    INSERT OR IGNORE INTO memory_links (owner, memory_id, kind, target)
    SELECT new.owner, new.id, value ->> 'kind', value ->> 'target' FROM json_each(new.links);
END;

CREATE TRIGGER links_erased AFTER DELETE ON memories BEGIN
    DELETE FROM memory_links WHERE owner = old.owner AND memory_id = old.id;
END;

-- The first change since the server was last heard of: from here on both sides may differ. What the
-- server did not show (withheld) is no base.
CREATE TRIGGER outbox_changed BEFORE UPDATE OF $state ON memories
WHEN NOT EXISTS (SELECT 1 FROM outbox WHERE owner = old.owner AND id = old.id) BEGIN
    INSERT INTO states (role, $state) SELECT 'base', $old_state
    WHERE EXISTS (
        SELECT 1 FROM synced WHERE owner = old.owner AND id = old.id AND NOT withheld);
    INSERT INTO outbox (id, owner, erased) VALUES (old.id, old.owner, 0);
END;

-- Former states of memories, kept in the transaction of the change, so that a recall can ask what
-- was known at a moment.
CREATE TABLE memory_versions (
    number INTEGER PRIMARY KEY,
    memory_id TEXT NOT NULL,
    known_from INTEGER NOT NULL,
    known_until INTEGER NOT NULL,
    $versioned_fields
) STRICT;

CREATE INDEX memory_versions_of ON memory_versions (owner, memory_id, number);
CREATE INDEX memory_versions_then ON memory_versions (owner, known_from);

CREATE TRIGGER versions_kept AFTER UPDATE ON memories
WHEN old.version <> new.version OR old.updated_at <> new.updated_at BEGIN
    INSERT INTO memory_versions (memory_id, known_from, known_until, $versioned)
    VALUES (old.id, old.updated_at, new.updated_at,
        $old_versioned);
    DELETE FROM memory_versions WHERE owner = old.owner AND memory_id = old.id AND number <= (
        SELECT number FROM memory_versions WHERE owner = old.owner AND memory_id = old.id
        ORDER BY number DESC LIMIT 1 OFFSET 100
    );
END;

CREATE TRIGGER versions_erased AFTER DELETE ON memories BEGIN
    DELETE FROM memory_versions WHERE owner = old.owner AND memory_id = old.id;
END;

CREATE TABLE reserve (number INTEGER PRIMARY KEY, filler BLOB NOT NULL) STRICT;
$fill_reserve

-- Which memories were recalled, and when last. The row without an id says since when it is kept.
CREATE TABLE recalls (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    recalled_at INTEGER NOT NULL,
    times INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER recalls_erased AFTER DELETE ON memories BEGIN
    DELETE FROM recalls WHERE owner = old.owner AND id = old.id;
END;

INSERT INTO recalls VALUES ('', '', CAST(strftime('%s', 'now') AS INTEGER) * 1000000, 0);

-- What was erased, by id: it cannot be stored again, and a server that is restored from a backup
-- learns of it. version: the one that the server had; 0: it had none. A backup has none newer, so
-- what it brings back is known to be what was erased.
CREATE TABLE erasures (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

-- Before the outbox is cleared, for that says what was sent and not answered yet.
CREATE TRIGGER erasures_kept BEFORE DELETE ON memories BEGIN
    INSERT OR REPLACE INTO erasures (id, owner, version)
    SELECT old.id, old.owner, coalesce(max(version), 0) FROM (
        SELECT version FROM synced WHERE owner = old.owner AND id = old.id
        UNION ALL SELECT old.version FROM outbox
        WHERE owner = old.owner AND id = old.id AND (edit IS NOT NULL OR earlier IS NOT NULL)
    );
END;

CREATE TRIGGER erasures_undone AFTER INSERT ON memories BEGIN
    DELETE FROM erasures WHERE owner = new.owner AND id = new.id;
END;
