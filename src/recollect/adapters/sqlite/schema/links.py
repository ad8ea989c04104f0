"""Links in the local store: a column of the memory, and the side table that finds them from their
other end.

A newer version may have synced links into a file that did not know them: they are among the unknown
fields, and become links here, where they are well formed.
"""

from __future__ import annotations

from typing import Final

from recollect.adapters.sqlite.schema.sync import STATE_COLUMNS, outbox_changed

_COLUMN: Final = "ALTER TABLE {table} ADD COLUMN links TEXT NOT NULL DEFAULT '[]'"
_SIDE_TABLE: Final = """
CREATE TABLE memory_links (
    memory_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (memory_id, kind, target)
) STRICT, WITHOUT ROWID
"""
_SUCCESSORS: Final = """
CREATE INDEX memory_successors ON memory_links (target, memory_id) WHERE kind = 'supersedes'
"""
_LINKED: Final = """
CREATE TRIGGER {name} AFTER {event} ON memories WHEN {condition} BEGIN
    DELETE FROM memory_links WHERE memory_id = new.id;
    INSERT OR IGNORE INTO memory_links (memory_id, kind, target)
    SELECT new.id, value ->> 'kind', value ->> 'target' FROM json_each(new.links);
END
"""
_UNLINKED: Final = """
CREATE TRIGGER links_erased AFTER DELETE ON memories BEGIN
    DELETE FROM memory_links WHERE memory_id = old.id;
END
"""
# A UUID as a memory's id is written: 36 characters, all of them hexadecimal or a hyphen.
_FOUND: Final = """
UPDATE {table} SET links = extra ->> 'links', extra = json_remove(extra, '$.links')
WHERE json_type(extra, '$.links') = 'array' AND NOT EXISTS (
    SELECT 1 FROM json_each(extra, '$.links')
    WHERE type <> 'object'
        OR json_type(value, '$.kind') IS NOT 'text' OR json_type(value, '$.target') IS NOT 'text'
        OR length(value ->> 'target') <> 36 OR value ->> 'target' GLOB '*[^0-9a-f-]*'
)
"""
# What moves here from one column to another is no change that the server would have to hear of.
LINKS_MIGRATION: Final[tuple[str, ...]] = (
    _COLUMN.format(table="memories"),
    _COLUMN.format(table="states"),
    _SIDE_TABLE,
    _SUCCESSORS,
    _LINKED.format(name="links_added", event="INSERT", condition="new.links <> '[]'"),
    _LINKED.format(
        name="links_changed", event="UPDATE OF links", condition="new.links <> old.links"
    ),
    _UNLINKED,
    "DROP TRIGGER outbox_changed",
    _FOUND.format(table="memories"),
    _FOUND.format(table="states"),
    outbox_changed(STATE_COLUMNS),
)
