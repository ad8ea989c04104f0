"""The tables and triggers of sync in the local store: the third migration.

The triggers keep the outbox, so that no writer can forget it and a write and its outbox row are one
transaction. They also run where no server is named: one that is named later gets everything.
"""

from __future__ import annotations

from typing import Final

# What a memory was made of when this migration was written.
_FIRST_COLUMNS: Final = (
    "id",
    "owner",
    "category",
    "project",
    "session",
    "importance",
    "is_sensitive",
    "version",
    "created_at",
    "updated_at",
    "deleted_at",
    "tags",
    "expanded_keywords",
    "content",
    "extra",
)
# What a memory is made of, as far as another side has to know it.
STATE_COLUMNS: Final = (*_FIRST_COLUMNS, "links")

_EXTRA: Final = "ALTER TABLE memories ADD COLUMN extra TEXT NOT NULL DEFAULT '{}'"

# Which server this store belongs to, how far it has pulled, and what stands in the way.
_LINK: Final = """
CREATE TABLE sync_link (
    owner TEXT NOT NULL PRIMARY KEY,
    store TEXT NOT NULL,
    server TEXT,
    remote_owner TEXT,
    cursor INTEGER NOT NULL DEFAULT 0,
    last_sync_at INTEGER,
    trouble TEXT,
    remedy TEXT,
    key_refused INTEGER NOT NULL DEFAULT 0
) STRICT
"""
# What the server last said of a memory. withheld: it is sensitive and not shown; 2: and forgotten.
# gone: it is erased; kept until the cursor is past that, so that a page read before it does not
# bring the memory back.
_SYNCED: Final = """
CREATE TABLE synced (
    id TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    change INTEGER NOT NULL,
    withheld INTEGER NOT NULL,
    gone INTEGER NOT NULL
) STRICT, WITHOUT ROWID
"""
# edit: the id under which the present attempt was sent; earlier: one before, of which is not known
# whether it arrived. parked_version: the version that the server refused.
_OUTBOX: Final = """
CREATE TABLE outbox (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    erased INTEGER NOT NULL,
    edit TEXT,
    earlier TEXT,
    parked TEXT,
    remedy TEXT,
    parked_version INTEGER
) STRICT
"""
# base: what a waiting change was made from; sent: what was sent and not answered yet.
_STATES: Final = """
CREATE TABLE states (
    role TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    category TEXT NOT NULL,
    project TEXT,
    session TEXT,
    importance REAL NOT NULL,
    is_sensitive INTEGER NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    tags TEXT NOT NULL,
    expanded_keywords TEXT NOT NULL,
    content TEXT NOT NULL,
    extra TEXT NOT NULL,
    PRIMARY KEY (id, role)
) STRICT
"""
# unsent: 1 while it waits to be sent; 2 when it is here alone, for the server did not keep it or it
# holds what was sensitive when it lost, whatever became of its memory since.
_REVISIONS: Final = """
CREATE TABLE revisions (
    id TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    fields TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    resolved_at INTEGER,
    unsent INTEGER NOT NULL
) STRICT
"""
_ADDED: Final = """
CREATE TRIGGER outbox_added AFTER INSERT ON memories BEGIN
    INSERT INTO outbox (id, owner, erased) VALUES (new.id, new.owner, 0)
    ON CONFLICT (id) DO UPDATE SET erased = 0;
END
"""
# The first change since the server was last heard of: from here on both sides may differ. What the
# server did not show (withheld) is no base.
_CHANGED: Final = """
CREATE TRIGGER outbox_changed BEFORE UPDATE ON memories
WHEN NOT EXISTS (SELECT 1 FROM outbox WHERE id = old.id) BEGIN
    INSERT INTO states (role, {names}) SELECT 'base', {old}
    WHERE EXISTS (SELECT 1 FROM synced WHERE id = old.id AND NOT withheld);
    INSERT INTO outbox (id, owner, erased) VALUES (old.id, old.owner, 0);
END
"""


def outbox_changed(columns: tuple[str, ...]) -> str:
    """The trigger that keeps a change's base, for a memory of these columns."""
    old = ", ".join(f"old.{name}" for name in columns)
    return _CHANGED.format(names=", ".join(columns), old=old)


# What the server never saw leaves nothing; else its erasure waits, without a word of its text.
_ERASED: Final = """
CREATE TRIGGER outbox_erased AFTER DELETE ON memories BEGIN
    DELETE FROM states WHERE id = old.id;
    DELETE FROM revisions WHERE memory_id = old.id;
    DELETE FROM outbox WHERE id = old.id AND edit IS NULL AND earlier IS NULL
        AND NOT EXISTS (SELECT 1 FROM synced WHERE id = old.id);
    UPDATE outbox SET erased = 1, parked = NULL, remedy = NULL, parked_version = NULL
    WHERE id = old.id;
    INSERT INTO outbox (id, owner, erased) SELECT old.id, old.owner, 1 FROM synced
    WHERE id = old.id AND NOT EXISTS (SELECT 1 FROM outbox WHERE id = old.id);
END
"""
SYNC_MIGRATION: Final[tuple[str, ...]] = (
    _EXTRA,
    _LINK,
    _SYNCED,
    _OUTBOX,
    _STATES,
    _REVISIONS,
    _ADDED,
    outbox_changed(_FIRST_COLUMNS),
    _ERASED,
    "INSERT INTO outbox (id, owner, erased) SELECT id, owner, 0 FROM memories ORDER BY number",
)
