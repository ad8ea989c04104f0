"""The local store's side of sync: waiting writes, the server's answers, and the cursor.

Every method is one transaction. A crash between two of them leaves a state from which the engine
can continue: what is sent is recorded before it is sent, and a cursor is stored only with its page.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import UUID

from recollect.adapters.sqlite.history.erasure import drop_erased_words, empty_log
from recollect.adapters.sqlite.rows import microseconds, moment, unsent_ids
from recollect.adapters.sqlite.sync import rows
from recollect.adapters.sqlite.sync.claims import REQUEST_CHARACTERS, claim
from recollect.adapters.sqlite.thread import transaction
from recollect.core.errors import Conflict, NotFound
from recollect.core.memory.ids import uuid7
from recollect.core.recall.settings import RecallSettings
from recollect.core.sync.merge import Outcome, reconcile
from recollect.core.sync.model import (
    WITHOUT_TEXT,
    Answer,
    ChangePage,
    Outgoing,
    Parked,
    Peer,
    Pushed,
    Remote,
    RemoteRevision,
    Revision,
    State,
    SyncStatus,
)

if TYPE_CHECKING:
    from recollect.adapters.sqlite.store import SqliteStore
    from recollect.ports.stores import Clock, SettingsStore

T = TypeVar("T")
# The author of a changed setting in the log: no user of this machine.
_SERVER: Final = "the server"
_OPEN_LINK: Final = "INSERT INTO sync_link (owner, store) VALUES (?, ?) ON CONFLICT DO NOTHING"
_WAITING: Final = """
SELECT count(*) FILTER (WHERE o.parked IS NULL OR m.version IS NOT o.parked_version),
    count(*) FILTER (WHERE m.is_sensitive AND NOT o.erased AND NOT :sensitive
        AND (s.id IS NULL OR s.withheld)
        AND (o.parked IS NULL OR m.version IS NOT o.parked_version))
FROM outbox o
LEFT JOIN memories m ON m.owner = o.owner AND m.id = o.id
LEFT JOIN synced s ON s.owner = o.owner AND s.id = o.id
WHERE o.owner = :owner
"""
_PARKED: Final = """
SELECT o.id, o.parked, o.remedy
FROM outbox o JOIN memories m ON m.owner = o.owner AND m.id = o.id
WHERE o.owner = ? AND o.parked IS NOT NULL AND m.version = o.parked_version ORDER BY o.number
"""
_FORGET_SYNCED: Final = """
DELETE FROM synced
WHERE owner = ?1 AND (gone OR id IN (SELECT id FROM memories WHERE owner = ?1))
"""
_KEEP_ERASED: Final = """
UPDATE synced SET change = 0
WHERE owner = ?1 AND id IN (SELECT id FROM outbox WHERE owner = ?1 AND erased)
"""


class SqliteSync:
    """Implements the `SyncStore` port for one owner. `sensitive`: also send sensitive memories."""

    def __init__(
        self,
        store: SqliteStore,
        owner: str,
        clock: Clock,
        *,
        sensitive: bool = False,
        default_settings: RecallSettings | None = None,
    ) -> None:
        self._writer, self._reader = store.threads.writer, store.threads.reader
        self._settings: SettingsStore = store
        self._owner = owner
        self._clock = clock
        self._sensitive = sensitive
        self._default_settings = default_settings or RecallSettings()
        self.request_characters = REQUEST_CHARACTERS

    async def store_id(self) -> UUID:
        def work(writer: sqlite3.Connection) -> UUID:
            writer.execute(_OPEN_LINK, (self._owner, str(self._new_id())))
            query = "SELECT store FROM sync_link WHERE owner = ?"
            return UUID(writer.execute(query, (self._owner,)).fetchone()[0])

        return await self._write(work)

    async def cursor(self) -> int:
        query = "SELECT cursor FROM sync_link WHERE owner = ?"
        row = await self._reader.run(
            lambda reader: reader.execute(query, (self._owner,)).fetchone()
        )
        return 0 if row is None else int(row[0])

    async def epoch(self) -> UUID | None:
        query = "SELECT epoch FROM sync_link WHERE owner = ?"
        row = await self._reader.run(
            lambda reader: reader.execute(query, (self._owner,)).fetchone()
        )
        return None if row is None or row[0] is None else UUID(row[0])

    async def bind_to(self, peer: Peer) -> bool:
        query = "SELECT server, remote_owner, epoch FROM sync_link WHERE owner = ?"
        row = await self._reader.run(
            lambda reader: reader.execute(query, (self._owner,)).fetchone()
        )
        met = None if row is None else (row["server"], row["remote_owner"])
        if met not in {(None, None), (str(peer.server), peer.owner)}:
            raise Conflict(
                "this local store belongs to another server or to another owner there",
                remedy="Set RECOLLECT_HOME to a new folder for this server, or run "
                "`recollect sync --relink` to send everything in this store to the new server.",
            )
        if row["epoch"] is not None:
            return bool(row["epoch"] == str(peer.epoch))
        statement = "UPDATE sync_link SET server = ?, remote_owner = ?, epoch = ? WHERE owner = ?"
        values = (str(peer.server), peer.owner, str(peer.epoch), self._owner)
        await self._write(lambda writer: writer.execute(statement, values))
        return True

    async def claim(self, limit: int) -> tuple[list[Outgoing], list[Revision]]:
        def work(writer: sqlite3.Connection) -> tuple[list[Outgoing], list[Revision]]:
            return claim(
                writer,
                self._owner,
                limit,
                self._new_id,
                sensitive=self._sensitive,
                max_characters=self.request_characters,
            )

        return await self._write(work)

    async def apply_push_result(
        self, items: Sequence[Outgoing], revisions: Sequence[Revision], pushed: Pushed
    ) -> None:
        sent = {item.id: item for item in items}

        def work(writer: sqlite3.Connection) -> None:
            with transaction(writer):
                known = [answer.remote for answer in pushed.answers if answer.remote is not None]
                gone = self._absorb(writer, known)
                for answer in pushed.answers:
                    if answer.id in sent:
                        _finish(writer, self._owner, sent[answer.id], answer)
                self._absorb_revisions(writer, pushed.revisions)
                kept = {kept.revision.id for kept in pushed.revisions}
                for revision in revisions:
                    _note_unsent(writer, self._owner, revision, 0 if revision.id in kept else 2)
                if gone:
                    drop_erased_words(writer)
            if gone:
                empty_log(writer)

        await self._writer.run(work)

    async def apply_page(self, page: ChangePage) -> None:
        def work(writer: sqlite3.Connection) -> None:
            with transaction(writer):
                gone = self._absorb(writer, page.memories)
                self._absorb_revisions(writer, page.revisions)
                writer.execute(
                    "UPDATE sync_link SET cursor = ? WHERE owner = ?", (page.cursor, self._owner)
                )
                writer.execute(
                    "DELETE FROM synced WHERE owner = ? AND gone AND change <= ?",
                    (self._owner, page.cursor),
                )
                if gone:
                    drop_erased_words(writer)
            if gone:
                empty_log(writer)

        await self._writer.run(work)

    async def reset(self, *, relink: bool = False) -> None:
        def work(writer: sqlite3.Connection) -> None:
            writer.execute(_FORGET_SYNCED, (self._owner,))
            # The version of erased memories is kept, since the erasure names the version it is
            # based on.
            writer.execute(_KEEP_ERASED, (self._owner,))
            # Old erasures are sent again: a backup may have restored these memories.
            writer.execute(
                "INSERT OR IGNORE INTO synced (owner, id, version, change, withheld, gone)"
                " SELECT owner, id, version, 0, 0, 0 FROM erasures"
                " WHERE owner = ? AND version > 0",
                (self._owner,),
            )
            writer.execute(
                "INSERT OR IGNORE INTO outbox (id, owner, erased)"
                " SELECT id, owner, 1 FROM erasures WHERE owner = ? AND version > 0",
                (self._owner,),
            )
            writer.execute("UPDATE former_names SET waits = 1 WHERE owner = ?", (self._owner,))
            writer.execute("DELETE FROM states WHERE owner = ?", (self._owner,))
            writer.execute(
                "INSERT INTO outbox (id, owner, erased) SELECT id, owner, 0 FROM memories"
                " WHERE owner = ?"
                " ON CONFLICT (owner, id) DO UPDATE SET edit = NULL, earlier = NULL",
                (self._owner,),
            )
            writer.execute(
                "UPDATE revisions SET unsent = max(unsent, 1) WHERE owner = ? AND kind <> 'orphan'",
                (self._owner,),
            )
            forgotten = ", server = NULL, remote_owner = NULL" if relink else ""
            writer.execute(
                f"UPDATE sync_link SET cursor = 0, epoch = NULL{forgotten} WHERE owner = ?",  # noqa: S608  # constants
                (self._owner,),
            )

        await self._write(work)

    async def park(self, item: Outgoing, reason: str, remedy: str) -> None:
        await self._write(lambda writer: _park(writer, self._owner, item, reason, remedy))

    async def keep_here(self, revision: Revision) -> None:
        await self._write(lambda writer: _note_unsent(writer, self._owner, revision, 2))

    async def retry_parked(self) -> int:
        statement = "UPDATE outbox SET parked = NULL WHERE owner = ? AND parked IS NOT NULL"
        return await self._write(lambda writer: writer.execute(statement, (self._owner,)).rowcount)

    async def follow_settings(self, said: Mapping[str, object]) -> None:
        here = self._default_settings.with_stored(await self._settings.read_settings())
        if changes := here.to_follow(said):
            await self._settings.write_settings(changes, by=_SERVER, at=self._clock.now())

    async def unsent_names(self) -> dict[str, str]:
        return {name: project for name, (project, waits) in (await self._names()).items() if waits}

    async def note_named(self, names: Mapping[str, str]) -> None:
        statement = """
            UPDATE former_names SET waits = 0 WHERE owner = ? AND name = ? AND project = ?
        """
        rows = [(self._owner, *named) for named in names.items()]
        await self._write(lambda writer: writer.executemany(statement, rows))

    async def follow_names(self, said: Mapping[str, str]) -> None:
        from recollect.adapters.sql.projects import rename
        from recollect.adapters.sqlite.session import SqliteSession
        from recollect.usecases.coroutines import run_directly

        known = await self._names()
        waiting = {name: project for name, (project, waits) in known.items() if waits}
        new = {
            name: waiting.get(project, project)
            for name, project in said.items()
            if name not in waiting and known.get(name, ("", 0))[0] != project
        }
        gone = [name for name in known if name not in said and name not in waiting]

        def work(writer: sqlite3.Connection) -> None:
            for name, project in new.items():
                if name != project:
                    at = self._clock.now()
                    session = SqliteSession(writer)
                    run_directly(rename(session, self._owner, name, project, _SERVER, at))
            writer.executemany(
                "DELETE FROM former_names WHERE owner = ? AND name = ?",
                [(self._owner, name) for name in gone],
            )
            writer.executemany(
                "UPDATE former_names SET waits = 0 WHERE owner = ? AND name = ?",
                [(self._owner, name) for name in new],
            )

        if new or gone:
            await self._write(work)

    async def _names(self) -> dict[str, tuple[str, int]]:
        query = "SELECT name, project, waits FROM former_names WHERE owner = ?"
        rows = await self._reader.run(
            lambda reader: reader.execute(query, (self._owner,)).fetchall()
        )
        return {row["name"]: (row["project"], row["waits"]) for row in rows}

    async def record_success(self, at: datetime) -> None:
        statement = """
            UPDATE sync_link SET last_sync_at = ?, last_error = NULL, remedy = NULL, key_refused = 0
            WHERE owner = ?
        """
        await self._write(lambda writer: writer.execute(statement, (microseconds(at), self._owner)))

    async def record_error(self, error: str, remedy: str, *, key_refused: bool) -> bool:
        statement = """
            UPDATE sync_link SET last_error = ?1, remedy = ?2, key_refused = ?3
            WHERE owner = ?4 AND last_error IS NOT ?1
        """
        values = (error, remedy, key_refused, self._owner)
        return await self._write(lambda writer: writer.execute(statement, values).rowcount == 1)

    async def status(self) -> SyncStatus:
        def work(reader: sqlite3.Connection) -> SyncStatus:
            named = {"owner": self._owner, "sensitive": self._sensitive}
            waiting, held = reader.execute(_WAITING, named).fetchone()
            parked = reader.execute(_PARKED, (self._owner,)).fetchall()
            query = "SELECT * FROM sync_link WHERE owner = ?"
            link = reader.execute(query, (self._owner,)).fetchone()
            query = "SELECT count(*) FROM revisions WHERE owner = ? AND resolved_at IS NULL"
            (conflicts,) = reader.execute(query, (self._owner,)).fetchone()
            last = None if link is None else link["last_sync_at"]
            return SyncStatus(
                waiting=waiting - held,
                held=held,
                conflicts=conflicts,
                parked=tuple(Parked(UUID(id), why, remedy) for id, why, remedy in parked),
                last_sync_at=None if last is None else moment(last),
                last_error=None if link is None else link["last_error"],
                remedy=None if link is None else link["remedy"],
                key_refused=link is not None and bool(link["key_refused"]),
            )

        return await self._reader.run(work)

    async def unsent_ids(self) -> set[UUID]:
        """Return the memories whose current text the server does not have."""
        return await self._reader.run(lambda reader: unsent_ids(reader, self._owner))

    async def data_version(self) -> int:
        """Return a number that changes when another process or thread writes."""
        row = await self._reader.run(
            lambda reader: reader.execute("PRAGMA data_version").fetchone()
        )
        return int(row[0])

    async def revisions(self, owner: str) -> list[Revision]:
        query = "SELECT * FROM revisions WHERE owner = ? AND resolved_at IS NULL ORDER BY id"
        found = await self._reader.run(lambda reader: reader.execute(query, (owner,)).fetchall())
        return [rows.to_revision(row) for row in found]

    async def resolve(self, owner: str, revision: Revision) -> None:
        """Resolve a conflict. One erased with its memory counts as resolved; delete an orphan."""
        if revision.resolved_at is None:
            raise NotFound(
                "the conflict is still open",
                remedy="Choose a side with --keep current or --keep other.",
            )
        statement = """
            UPDATE revisions SET resolved_at = ?, unsent = max(unsent, 1) WHERE owner = ? AND id = ?
        """
        values: tuple[object, ...] = (microseconds(revision.resolved_at), owner, str(revision.id))
        if revision.kind == "orphan":
            statement = "DELETE FROM revisions WHERE owner = ? AND id = ?"
            values = (owner, str(revision.id))
        await self._write(lambda writer: writer.execute(statement, values))

    def _absorb(self, writer: sqlite3.Connection, remotes: Iterable[Remote]) -> bool:
        """Apply states of the server. Returns whether a text was erased."""
        news = list(remotes)
        gone = False
        all_known = rows.read_known(writer, self._owner, [remote.id for remote in news])
        for remote in news:
            known = all_known[remote.id]
            outcome = reconcile(known, remote)
            if outcome is None:
                continue
            gone |= known.local is not None and outcome.state is None
            self._settle(writer, remote, outcome, known.local)
        return gone

    def _settle(
        self, writer: sqlite3.Connection, remote: Remote, outcome: Outcome, before: State | None
    ) -> None:
        id = remote.id
        if outcome.state is not None:
            rows.put(writer, outcome.state, is_new=before is None)
        elif before is not None:
            orphans = rows.find_unseen_revisions(writer, before)
            writer.execute(
                "DELETE FROM memories WHERE owner = ? AND id = ?", (self._owner, str(id))
            )
            for orphan in orphans:
                rows.save_revision(writer, self._owner, orphan, unsent=0)
        rows.note_waiting(writer, id, self._owner, waits=outcome.waits, erased=outcome.is_erased)
        if outcome.waits:
            rows.save_state(writer, self._owner, "base", id, outcome.base)
            rows.save_state(writer, self._owner, "sent", id, None)
        rows.note_synced(
            writer,
            self._owner,
            id,
            remote.version,
            remote.change,
            withheld=(1 if remote.deleted_at is None else 2) if outcome.is_withheld else 0,
            gone=remote.is_erased or (outcome.state is None and not outcome.waits),
        )
        if outcome.lost is not None:
            kept = Revision(
                self._new_id(), id, outcome.lost.kind, outcome.lost.fields, self._clock.now()
            )
            was_sensitive = before is not None and before.memory.is_sensitive
            has_text = not kept.fields.keys() <= set(WITHOUT_TEXT)
            is_here_alone = was_sensitive and has_text and not self._sensitive
            unsent = 0 if kept.kind == "orphan" else 2 if is_here_alone else 1
            rows.save_revision(writer, self._owner, kept, unsent=unsent)

    def _absorb_revisions(
        self, writer: sqlite3.Connection, revisions: Iterable[RemoteRevision]
    ) -> None:
        for remote in revisions:
            row = rows.revision_row(self._owner, remote.revision, unsent=0)
            writer.execute(
                """
                INSERT INTO revisions
                    (id, owner, memory_id, kind, fields, made_at, resolved_at, unsent)
                SELECT :id, :owner, :memory_id, :kind, :fields, :made_at, :resolved_at, 0
                WHERE EXISTS (SELECT 1 FROM memories WHERE owner = :owner AND id = :memory_id)
                ON CONFLICT (owner, id) DO UPDATE SET resolved_at = excluded.resolved_at, unsent = 0
                WHERE excluded.resolved_at IS NOT NULL
                """,
                row,
            )

    def _new_id(self) -> UUID:
        return uuid7(self._clock.now(), os.urandom(10))

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def within(writer: sqlite3.Connection) -> T:
            with transaction(writer):
                return work(writer)

        return await self._writer.run(within)


def _finish(writer: sqlite3.Connection, owner: str, item: Outgoing, answer: Answer) -> None:
    """Apply what an answer means for its write, besides the state it contains."""
    if answer.refused is not None:
        _park(writer, owner, item, answer.refused.reason, answer.refused.remedy)
    elif answer.remote is None:
        # The server has no such memory: next time it is sent all of it or, if not allowed, nothing.
        key = (owner, str(item.id))
        writer.execute("DELETE FROM synced WHERE owner = ? AND id = ?", key)
        writer.execute("DELETE FROM states WHERE owner = ? AND id = ?", key)
        writer.execute(
            "UPDATE outbox SET edit = NULL, earlier = NULL WHERE owner = ? AND id = ?", key
        )


def _note_unsent(writer: sqlite3.Connection, owner: str, revision: Revision, unsent: int) -> None:
    """Record the outcome, unless the revision was resolved since: that must still be sent."""
    resolved = revision.resolved_at and microseconds(revision.resolved_at)
    writer.execute(
        "UPDATE revisions SET unsent = ? WHERE owner = ? AND id = ? AND resolved_at IS ?",
        (unsent, owner, str(revision.id), resolved),
    )


def _park(writer: sqlite3.Connection, owner: str, item: Outgoing, reason: str, remedy: str) -> None:
    """Park a write until the memory is edited: only this version was refused."""
    writer.execute(
        """
        UPDATE outbox SET parked = ?, remedy = ?, parked_version = ?, edit = NULL, earlier = NULL
        WHERE owner = ? AND id = ?
        """,
        (reason, remedy, item.version, owner, str(item.id)),
    )
    statement = "DELETE FROM states WHERE owner = ? AND id = ? AND role = 'sent'"
    writer.execute(statement, (owner, str(item.id)))
