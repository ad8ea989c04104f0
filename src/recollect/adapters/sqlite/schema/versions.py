"""Former states of memories in the local store, kept by a trigger in the transaction of the change,
so that a recall can ask what was known at a moment.
"""

from __future__ import annotations

from typing import Final

_VERSIONS: Final = """
CREATE TABLE memory_versions (
    number INTEGER PRIMARY KEY,
    memory_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_to INTEGER NOT NULL,
    category TEXT NOT NULL,
    project TEXT,
    session TEXT,
    importance REAL NOT NULL,
    is_sensitive INTEGER NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    deleted_at INTEGER,
    tags TEXT NOT NULL,
    expanded_keywords TEXT NOT NULL,
    content TEXT NOT NULL,
    links TEXT NOT NULL
) STRICT
"""
_KEPT: Final = """
CREATE TRIGGER versions_kept AFTER UPDATE ON memories
WHEN old.version <> new.version OR old.updated_at <> new.updated_at BEGIN
    INSERT INTO memory_versions (memory_id, owner, valid_from, valid_to, category, project, session,
        importance, is_sensitive, version, created_at, deleted_at, tags, expanded_keywords, content,
        links)
    VALUES (old.id, old.owner, old.updated_at, new.updated_at, old.category, old.project,
        old.session, old.importance, old.is_sensitive, old.version, old.created_at, old.deleted_at,
        old.tags, old.expanded_keywords, old.content, old.links);
    DELETE FROM memory_versions WHERE memory_id = old.id AND number <= (
        SELECT number FROM memory_versions WHERE memory_id = old.id
        ORDER BY number DESC LIMIT 1 OFFSET 100
    );
END
"""
_ERASED: Final = """
CREATE TRIGGER versions_erased AFTER DELETE ON memories BEGIN
    DELETE FROM memory_versions WHERE memory_id = old.id;
END
"""
VERSIONS_MIGRATION: Final[tuple[str, ...]] = (
    _VERSIONS,
    "CREATE INDEX memory_versions_of ON memory_versions (memory_id, number)",
    "CREATE INDEX memory_versions_then ON memory_versions (owner, valid_from)",
    _KEPT,
    _ERASED,
)
