-- What was erased, forgotten or replaced by another text, so that an older copy does not bring it
-- back: a resumed session, an old export. A fingerprint cannot be read; with the salt, only someone
-- who knows a text already can tell that it was here. The writer's connection has the function.
CREATE TABLE text_salt (salt BLOB NOT NULL) STRICT;

INSERT INTO text_salt VALUES (randomblob(32));

CREATE TABLE removed_texts (
    owner TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    removed_at INTEGER NOT NULL,
    PRIMARY KEY (owner, fingerprint)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER texts_erased AFTER DELETE ON memories WHEN old.category <> 'episode' BEGIN
    INSERT INTO removed_texts (owner, fingerprint, removed_at)
    SELECT old.owner, fingerprint(salt, old.project, old.content), coalesce(
        old.deleted_at, CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER))
    FROM text_salt WHERE true
    ON CONFLICT DO UPDATE SET removed_at = max(removed_at, excluded.removed_at);
END;

CREATE TRIGGER texts_replaced AFTER UPDATE OF content, project, deleted_at ON memories
WHEN old.category <> 'episode' AND old.deleted_at IS NULL AND (
    new.deleted_at IS NOT NULL OR old.content <> new.content
    OR old.project IS NOT new.project) BEGIN
    INSERT INTO removed_texts (owner, fingerprint, removed_at)
    SELECT old.owner, fingerprint(salt, old.project, old.content),
        coalesce(new.deleted_at, new.updated_at)
    FROM text_salt WHERE true
    ON CONFLICT DO UPDATE SET removed_at = max(removed_at, excluded.removed_at);
END;

CREATE TRIGGER texts_restored AFTER UPDATE OF content, project, deleted_at ON memories
WHEN new.deleted_at IS NULL AND (old.deleted_at IS NOT NULL OR old.content <> new.content
    OR old.project IS NOT new.project) BEGIN
    DELETE FROM removed_texts WHERE owner = new.owner AND fingerprint =
        (SELECT fingerprint(salt, new.project, new.content) FROM text_salt);
END;
