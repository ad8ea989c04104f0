"""The tables, indexes and triggers of the local store.

`user_version` is the version of this schema; `application_id` marks a file as ours, so that no
other program's database is ever written to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from recollect.adapters.sqlite.rows import to_column
from recollect.adapters.sqlite.schema.curation import CURATION
from recollect.adapters.sqlite.schema.graph import GRAPH
from recollect.adapters.sqlite.schema.vectors import RENEW_VECTORS, VECTORS
from recollect.core.memory.fields import Kind
from recollect.core.memory.memory import FIELDS, STORED

APPLICATION_ID: Final = 0x52434C54  # "RCLT"
VERSION: Final = 4
_DONE: Final = f"PRAGMA user_version = {VERSION}"

_TYPES: Final[Mapping[Kind, str]] = {
    "id": "TEXT",
    "text": "TEXT",
    "texts": "TEXT",
    "number": "REAL",
    "count": "INTEGER",
    "flag": "INTEGER",
    "moment": "INTEGER",
    "links": "TEXT",
}
# Fields that memories did not have at first, by the version of the schema that added them.
ADDED: Final[Mapping[int, tuple[str, ...]]] = {3: ("valid_from", "valid_until", "changed_by")}


def _column(name: str) -> str:
    field = FIELDS[name]
    needed = "" if field.is_optional else f" NOT NULL DEFAULT {to_column(field, field.default)!r}"
    return f"{name} {_TYPES[field.kind]}{needed}"


_ADDED: Final = ",\n    ".join(_column(name) for names in ADDED.values() for name in names)
# What a memory is made of, as far as another side has to know it.
STATE_COLUMNS: Final = (*(field.name for field in STORED), "extra")
_STATE: Final = ", ".join(STATE_COLUMNS)
_OLD_STATE: Final = ", ".join(f"old.{name}" for name in STATE_COLUMNS)
RESERVED_PAGES: Final = 8
# Each row fills a page of its own.
FILL_RESERVE: Final = "INSERT INTO reserve (number, filler) VALUES (?, zeroblob(4000))"

# `number` ties a memory to its entry in the word index; being declared, it survives a VACUUM.
# Short columns come first: a scope is then checked without reading the texts. `extra`: fields that
# a newer peer sent, as JSON. The terms are what the memory is found by, as core/text/terms.py
# analyzed it: by which version, and in which languages.
_MEMORIES: Final = f"""
CREATE TABLE memories (
    number INTEGER PRIMARY KEY,
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
    {_ADDED},
    analyzer INTEGER NOT NULL,
    languages TEXT NOT NULL,
    tags TEXT NOT NULL,
    expanded_keywords TEXT NOT NULL,
    content TEXT NOT NULL,
    extra TEXT NOT NULL DEFAULT '{{}}',
    links TEXT NOT NULL DEFAULT '[]',
    content_terms TEXT NOT NULL,
    keyword_terms TEXT NOT NULL,
    tag_terms TEXT NOT NULL,
    category_terms TEXT NOT NULL,
    UNIQUE (owner, id)
) STRICT
"""
# What the word index indexes: memories that are not forgotten. The triggers, FTS5's own rebuild and
# its integrity check all read this view, so they cannot disagree.
_SEARCHABLE: Final = """
CREATE VIEW searchable AS SELECT
    number, content_terms AS content, keyword_terms AS expanded_keywords, tag_terms AS tags,
    category_terms AS category
FROM memories WHERE deleted_at IS NULL
"""
# Terms are words already, with spaces between them: to this tokenizer all characters beyond ASCII
# are letters, and so is the punctuation that terms hold.
TOKENIZER: Final = "tokenize=\"ascii tokenchars '_./@:+#-'\""
_WORDS: Final = f"""
CREATE VIRTUAL TABLE memory_words USING fts5(
    content, expanded_keywords, tags, category,
    content='searchable', content_rowid='number', {TOKENIZER}
)
"""
# Which languages an owner's memories are in, one step of the index for each.
_BY_LANGUAGES: Final = """
CREATE INDEX memories_by_languages ON memories (owner, languages) WHERE deleted_at IS NULL
"""
# The few that expire.
_BY_EXPIRY: Final = """
CREATE INDEX memories_by_expiry ON memories (owner, valid_until)
WHERE deleted_at IS NULL AND valid_until IS NOT NULL
"""
# FTS5 takes an entry out by the text that went in, hence BEFORE: the view still shows the old row.
_UNINDEX: Final = """
CREATE TRIGGER {name} BEFORE {event} ON memories BEGIN
    INSERT INTO memory_words
        (memory_words, rowid, content, expanded_keywords, tags, category)
    SELECT 'delete', number, content, expanded_keywords, tags, category
    FROM searchable WHERE number = old.number;
END
"""
_INDEX: Final = """
CREATE TRIGGER {name} AFTER {event} ON memories BEGIN
    INSERT INTO memory_words (rowid, content, expanded_keywords, tags, category)
    SELECT number, content, expanded_keywords, tags, category
    FROM searchable WHERE number = new.number;
END
"""
# Values as JSON; `old_value` is NULL where the default held.
_SETTINGS_AUDIT: Final = """
CREATE TABLE settings_audit (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    old_value TEXT,
    new_value TEXT NOT NULL,
    changed_by TEXT NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT
"""


def beginning(text: str) -> str:
    """The SQL for how a text begins, spaces and line ends apart: enough to look a text up by."""
    for code in (32, 9, 10, 13):
        text = f"replace({text}, char({code}), '')"
    return f"substr({text}, 1, 64)"


_BY_BEGINNING: Final = f"""
CREATE INDEX memories_by_beginning ON memories (owner, {beginning("content")})
WHERE deleted_at IS NULL AND category <> 'episode'
"""
# Which projects there are; a listing of one of them comes in its order.
_BY_PROJECT: Final = """
CREATE INDEX memories_by_project ON memories (owner, project, created_at, id)
WHERE deleted_at IS NULL AND project IS NOT NULL
"""

# The side table that finds links from their other end.
_MEMORY_LINKS: Final = """
CREATE TABLE memory_links (
    owner TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (owner, memory_id, kind, target)
) STRICT, WITHOUT ROWID
"""
_SUCCESSORS: Final = """
CREATE INDEX memory_successors ON memory_links (owner, target, memory_id)
WHERE kind = 'supersedes'
"""
_LINKED: Final = """
CREATE TRIGGER {name} AFTER {event} ON memories WHEN {condition} BEGIN
    DELETE FROM memory_links WHERE owner = new.owner AND memory_id = new.id;
    INSERT OR IGNORE INTO memory_links (owner, memory_id, kind, target)
    SELECT new.owner, new.id, value ->> 'kind', value ->> 'target' FROM json_each(new.links);
END
"""
_UNLINKED: Final = """
CREATE TRIGGER links_erased AFTER DELETE ON memories BEGIN
    DELETE FROM memory_links WHERE owner = old.owner AND memory_id = old.id;
END
"""

# Former states of memories, kept in the transaction of the change, so that a recall can ask what
# was known at a moment.
_VERSIONS: Final = f"""
CREATE TABLE memory_versions (
    number INTEGER PRIMARY KEY,
    memory_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    known_from INTEGER NOT NULL,
    known_until INTEGER NOT NULL,
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
    links TEXT NOT NULL,
    {_ADDED}
) STRICT
"""
_VERSIONED: Final = [field.name for field in STORED if field.name not in ("id", "updated_at")]
_VERSIONS_KEPT: Final = f"""
CREATE TRIGGER versions_kept AFTER UPDATE ON memories
WHEN old.version <> new.version OR old.updated_at <> new.updated_at BEGIN
    INSERT INTO memory_versions (memory_id, known_from, known_until, {", ".join(_VERSIONED)})
    VALUES (old.id, old.updated_at, new.updated_at,
        {", ".join(f"old.{name}" for name in _VERSIONED)});
    DELETE FROM memory_versions WHERE owner = old.owner AND memory_id = old.id AND number <= (
        SELECT number FROM memory_versions WHERE owner = old.owner AND memory_id = old.id
        ORDER BY number DESC LIMIT 1 OFFSET 100
    );
END
"""  # noqa: S608  # composed of constants
_VERSIONS_ERASED: Final = """
CREATE TRIGGER versions_erased AFTER DELETE ON memories BEGIN
    DELETE FROM memory_versions WHERE owner = old.owner AND memory_id = old.id;
END
"""

# Sync. The triggers keep the outbox, so that no writer can forget it and a write and its outbox row
# are one transaction. They also run where no server is named: one that is named later gets
# everything.

# Which server this store belongs to, how far it has pulled, and what stands in the way.
_SYNC_LINK: Final = """
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
) STRICT
"""
# What the server last said of a memory. withheld: it is sensitive and not shown; 2: and forgotten.
# gone: it is erased; kept until the cursor is past that, so that a page read before it does not
# bring the memory back.
_SYNCED: Final = """
CREATE TABLE synced (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    change INTEGER NOT NULL,
    withheld INTEGER NOT NULL,
    gone INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID
"""
# edit: the id under which the present attempt was sent; earlier: one before, of which is not known
# whether it arrived. parked_version: the version that the server refused.
_OUTBOX: Final = """
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
) STRICT
"""
# base: what a waiting change was made from; sent: what was sent and not answered yet.
_STATES: Final = f"""
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
    links TEXT NOT NULL,
    {_ADDED},
    PRIMARY KEY (owner, id, role)
) STRICT
"""
# unsent: 1 while it waits to be sent; 2 when it is here alone, for the server did not keep it or it
# holds what was sensitive when it lost, whatever became of its memory since.
_REVISIONS: Final = """
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
) STRICT
"""
_OUTBOX_ADDED: Final = """
CREATE TRIGGER outbox_added AFTER INSERT ON memories BEGIN
    INSERT INTO outbox (id, owner, erased) VALUES (new.id, new.owner, 0)
    ON CONFLICT (owner, id) DO UPDATE SET erased = 0;
END
"""
# The first change since the server was last heard of: from here on both sides may differ. What the
# server did not show (withheld) is no base.
_OUTBOX_CHANGED: Final = f"""
CREATE TRIGGER outbox_changed BEFORE UPDATE OF {_STATE} ON memories
WHEN NOT EXISTS (SELECT 1 FROM outbox WHERE owner = old.owner AND id = old.id) BEGIN
    INSERT INTO states (role, {_STATE}) SELECT 'base', {_OLD_STATE}
    WHERE EXISTS (
        SELECT 1 FROM synced WHERE owner = old.owner AND id = old.id AND NOT withheld);
    INSERT INTO outbox (id, owner, erased) VALUES (old.id, old.owner, 0);
END
"""  # noqa: S608  # composed of constants
# What the server never saw leaves nothing; else its erasure waits, without a word of its text.
_OUTBOX_ERASED: Final = """
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
END
"""

# What was erased, by id: it cannot be stored again, and a server that is restored from a backup
# learns of it. version: the one that the server had; 0: it had none. A backup has none newer, so
# what it brings back is known to be what was erased.
_ERASURES: Final = """
CREATE TABLE erasures (
    owner TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID
"""
# Before the outbox is cleared, for that says what was sent and not answered yet.
_ERASURES_KEPT: Final = """
CREATE TRIGGER erasures_kept BEFORE DELETE ON memories BEGIN
    INSERT OR REPLACE INTO erasures (id, owner, version)
    SELECT old.id, old.owner, coalesce(max(version), 0) FROM (
        SELECT version FROM synced WHERE owner = old.owner AND id = old.id
        UNION ALL SELECT old.version FROM outbox
        WHERE owner = old.owner AND id = old.id AND (edit IS NOT NULL OR earlier IS NOT NULL)
    );
END
"""
_ERASURES_UNDONE: Final = """
CREATE TRIGGER erasures_undone AFTER INSERT ON memories BEGIN
    DELETE FROM erasures WHERE owner = new.owner AND id = new.id;
END
"""

# What was erased, forgotten or replaced by another text, so that an older copy does not bring it
# back: a resumed session, an old export. A fingerprint cannot be read; with the salt, only someone
# who knows a text already can tell that it was here. The writer's connection has the function.
REMOVED_TEXTS: Final = (
    "CREATE TABLE text_salt (salt BLOB NOT NULL) STRICT",
    "INSERT INTO text_salt VALUES (randomblob(32))",
    """
    CREATE TABLE removed_texts (
        owner TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        removed_at INTEGER NOT NULL,
        PRIMARY KEY (owner, fingerprint)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TRIGGER texts_erased AFTER DELETE ON memories WHEN old.category <> 'episode' BEGIN
        INSERT INTO removed_texts (owner, fingerprint, removed_at)
        SELECT old.owner, fingerprint(salt, old.project, old.content), coalesce(
            old.deleted_at, CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER))
        FROM text_salt WHERE true
        ON CONFLICT DO UPDATE SET removed_at = max(removed_at, excluded.removed_at);
    END
    """,
    """
    CREATE TRIGGER texts_replaced AFTER UPDATE OF content, project, deleted_at ON memories
    WHEN old.category <> 'episode' AND old.deleted_at IS NULL AND (
        new.deleted_at IS NOT NULL OR old.content <> new.content
        OR old.project IS NOT new.project) BEGIN
        INSERT INTO removed_texts (owner, fingerprint, removed_at)
        SELECT old.owner, fingerprint(salt, old.project, old.content),
            coalesce(new.deleted_at, new.updated_at)
        FROM text_salt WHERE true
        ON CONFLICT DO UPDATE SET removed_at = max(removed_at, excluded.removed_at);
    END
    """,
    """
    CREATE TRIGGER texts_restored AFTER UPDATE OF content, project, deleted_at ON memories
    WHEN new.deleted_at IS NULL AND (old.deleted_at IS NOT NULL OR old.content <> new.content
        OR old.project IS NOT new.project) BEGIN
        DELETE FROM removed_texts WHERE owner = new.owner AND fingerprint =
            (SELECT fingerprint(salt, new.project, new.content) FROM text_salt);
    END
    """,
)

# Which memories were recalled, and when last. The row without an id says since when it is kept.
_RECALLS: Final = """
CREATE TABLE recalls (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    recalled_at INTEGER NOT NULL,
    times INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID
"""
_RECALLS_SINCE: Final = """
INSERT INTO recalls VALUES ('', '', CAST(strftime('%s', 'now') AS INTEGER) * 1000000, 0)
"""
_RECALLS_ERASED: Final = """
CREATE TRIGGER recalls_erased AFTER DELETE ON memories BEGIN
    DELETE FROM recalls WHERE owner = old.owner AND id = old.id;
END
"""
SCHEMA: Final[tuple[str, ...]] = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    _MEMORIES,
    "CREATE INDEX memories_by_age ON memories (owner, created_at, id) WHERE deleted_at IS NULL",
    _BY_PROJECT,
    _BY_BEGINNING,
    _BY_LANGUAGES,
    _BY_EXPIRY,
    "CREATE INDEX memories_by_analyzer ON memories (analyzer)",
    "CREATE TABLE settings (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT",
    _SETTINGS_AUDIT,
    _SEARCHABLE,
    _WORDS,
    _INDEX.format(name="index_added", event="INSERT"),
    _UNINDEX.format(name="unindex_changed", event="UPDATE"),
    _INDEX.format(name="index_changed", event="UPDATE"),
    _UNINDEX.format(name="unindex_erased", event="DELETE"),
    _SYNC_LINK,
    _SYNCED,
    _OUTBOX,
    _STATES,
    _REVISIONS,
    _OUTBOX_ADDED,
    _OUTBOX_ERASED,
    _MEMORY_LINKS,
    _SUCCESSORS,
    _LINKED.format(name="links_added", event="INSERT", condition="new.links <> '[]'"),
    _LINKED.format(
        name="links_changed", event="UPDATE OF links", condition="new.links <> old.links"
    ),
    _UNLINKED,
    _OUTBOX_CHANGED,
    _VERSIONS,
    "CREATE INDEX memory_versions_of ON memory_versions (owner, memory_id, number)",
    "CREATE INDEX memory_versions_then ON memory_versions (owner, known_from)",
    _VERSIONS_KEPT,
    _VERSIONS_ERASED,
    "CREATE TABLE reserve (number INTEGER PRIMARY KEY, filler BLOB NOT NULL) STRICT",
    *(FILL_RESERVE.replace("?", str(number)) for number in range(RESERVED_PAGES)),
    _RECALLS,
    _RECALLS_ERASED,
    _RECALLS_SINCE,
    _ERASURES,
    _ERASURES_KEPT,
    _ERASURES_UNDONE,
    *REMOVED_TEXTS,
    *VECTORS,
    *GRAPH,
    *CURATION,
    _DONE,
)

_RENAME_VALIDITY: Final = (
    "ALTER TABLE memory_versions RENAME COLUMN valid_from TO known_from",
    "ALTER TABLE memory_versions RENAME COLUMN valid_to TO known_until",
)


def _add_fields(version: int) -> tuple[str, ...]:
    """The statements that give a store of this version the fields that were added since."""
    names = [name for added, names in ADDED.items() if added > version for name in names]
    if not names:
        return ()
    return (
        *(
            f"ALTER TABLE {table} ADD COLUMN {_column(name)}"
            for table in ("memories", "memory_versions", "states")
            for name in names
        ),
        "DROP TRIGGER versions_kept",
        _VERSIONS_KEPT,
        "DROP TRIGGER outbox_changed",
        _OUTBOX_CHANGED,
    )


_KEEP_REMOVED: Final = (
    "DROP TRIGGER IF EXISTS erasures_kept",
    _ERASURES_KEPT,
    *REMOVED_TEXTS,
    """
    INSERT INTO removed_texts (owner, fingerprint, removed_at)
    SELECT owner, fingerprint(salt, project, content), max(deleted_at) FROM memories, text_salt
    WHERE deleted_at IS NOT NULL AND category <> 'episode' GROUP BY 1, 2
    """,
)
UPGRADES: Final[dict[int, tuple[str, ...]]] = {
    1: (
        *_RENAME_VALIDITY,
        *_add_fields(1),
        _BY_EXPIRY,
        *_KEEP_REMOVED,
        *VECTORS,
        *GRAPH,
        *CURATION,
        _DONE,
    ),
    2: (
        *_RENAME_VALIDITY,
        *_add_fields(2),
        _BY_EXPIRY,
        *_KEEP_REMOVED,
        *RENEW_VECTORS,
        *CURATION,
        _DONE,
    ),
    3: (*_add_fields(3), *_KEEP_REMOVED, _DONE),
}
"""What makes a store of an older version one of this."""
