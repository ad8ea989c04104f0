"""What the local store keeps for a server that is restored from a backup: the epoch in which it
pulled, and what was erased, by id. The eighth migration.
"""

from __future__ import annotations

from typing import Final

_EPOCH: Final = "ALTER TABLE sync_link ADD COLUMN epoch TEXT"
# version: the one that the server had. A backup has none newer, so what it brings back is known to
# be what was erased.
_ERASURES: Final = """
CREATE TABLE erasures (
    id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, version INTEGER NOT NULL
) STRICT, WITHOUT ROWID
"""
# Of what the server never saw nothing stays. Before the outbox is cleared, for that says what was
# sent and not answered yet.
_KEPT: Final = """
CREATE TRIGGER erasures_kept BEFORE DELETE ON memories BEGIN
    INSERT OR REPLACE INTO erasures (id, owner, version)
    SELECT old.id, old.owner, max(version) FROM (
        SELECT version FROM synced WHERE id = old.id
        UNION ALL SELECT old.version FROM outbox
        WHERE id = old.id AND (edit IS NOT NULL OR earlier IS NOT NULL)
    ) HAVING count(*) > 0;
END
"""
_ADDED: Final = """
CREATE TRIGGER erasures_undone AFTER INSERT ON memories BEGIN
    DELETE FROM erasures WHERE id = new.id;
END
"""
RESTORES_MIGRATION: Final[tuple[str, ...]] = (_EPOCH, _ERASURES, _KEPT, _ADDED)
