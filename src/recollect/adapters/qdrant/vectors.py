"""The vectors in Postgres, searched in Qdrant.

Postgres has every vector and decides what is embedded. Qdrant has a copy, one collection per space,
and is brought up to date from an outbox: triggers write a row with each change, in the same
transaction, and `drain` removes it when Qdrant has confirmed the current state. So a crash at any
moment leaves a row to be sent again, and sending again changes nothing.

A search gets candidates from Qdrant, and Postgres confirms them: each hit is compared again with
the vector that is stored now, within the scope, and memories that are still in the outbox are
compared as well. An outdated point in Qdrant only takes up a place among the candidates, and then
more are fetched (docs/adr/0055).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from secrets import token_hex
from typing import Any, Final, LiteralString
from uuid import UUID

from recollect.adapters.postgres.access import WORKER
from recollect.adapters.postgres.distribution import limit_to
from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.listener import Listener
from recollect.adapters.postgres.pipeline import execute_many
from recollect.adapters.postgres.pool import Connection, Pool, retry_on_disconnect
from recollect.adapters.postgres.rows import Condition, within
from recollect.adapters.postgres.vectors.queue import PostgresVectors
from recollect.adapters.postgres.vectors.search import OVERFETCH, compare_vectors, merge
from recollect.adapters.qdrant.engine import Point, Qdrant, to_filter
from recollect.core.errors import StoreError
from recollect.core.memory.memory import Scope
from recollect.core.recall.request import Candidate
from recollect.core.recall.space import Space, StoredSpace, Survey, unit_vector
from recollect.ports.embedding import NO_PASSAGES, NO_TOKENS, Passages, Tokens
from recollect.ports.recall import VectorQuery

CHANNEL: Final = "recollect_vectors"
"""The channel for new rows in the outbox; the triggers use the same name."""

BATCH: Final = 256
"""Memories that one transaction sends."""

_GROWTH: Final = 4
"""How much more is fetched when too few hits were confirmed."""

# Any fixed number. Only one process sends at a time: two could send states of a memory in the wrong
# order. A change never waits for this lock.
_LOCK: Final = "select pg_advisory_xact_lock(7305201847)"

_COLLECTIONS: Final = """
select id as space, collection, dimension from spaces where collection is not null order by id
"""
_NAME: Final = """
update spaces set collection = %(collection)s
where id = %(space)s and collection is null and (state <> 'retired' or is_former)
"""
_UNNAME: Final = """
update spaces s set collection = null from spaces old
where s.id = %(space)s and old.id = s.id and old.collection is not null
returning old.collection
"""
_ENQUEUE: Final = """
insert into vector_outbox (owner, collection, memory_id)
select e.owner, %(collection)s, e.memory_id from embeddings e
where e.space_id = %(space)s and e.passage = 0 and e.vector is not null
on conflict (owner, id) do nothing
"""
_DROP_LATER: Final = """
insert into vector_outbox (owner, collection) values ('', %(collection)s)
"""
_FORGET: Final = "delete from vector_outbox where collection = %(collection)s"
_WAITING: Final = """
select owner, collection, memory_id, array_agg(id) as ids from vector_outbox
group by owner, collection, memory_id order by owner, collection, memory_id limit %(limit)s
"""
_POINTS: Final = """
select e.owner, e.memory_id, e.passage, e.start_char is null as is_whole,
    e.vector::real[] as vector, m.project, m.session, m.category, m.tags, m.created_at
from embeddings e join memories m on m.owner = e.owner and m.id = e.memory_id
where e.owner = %(owner)s and e.memory_id = any(%(ids)s) and e.space_id = %(space)s
    and e.vector is not null
order by e.memory_id, e.passage
"""
_SENT: Final[LiteralString] = """
delete from vector_outbox o where o.id = any(%(ids)s) and o.owner = any(%(owners)s) {o}
"""
_LEFT: Final[LiteralString] = "select count(*) as waiting from vector_outbox o where true {o}"
_OWNERS: Final = """
select count(distinct o.owner) as owners
from vector_outbox o join spaces s on s.collection = o.collection and s.id = %(space)s
"""
_UNSENT: Final = """
select distinct o.memory_id from vector_outbox o
where o.owner = %(owner)s and o.memory_id is not null and o.collection = (
    select s.collection from spaces s where s.id = %(dense_space)s)
"""
_COLLECTION: Final = "select s.collection from spaces s where s.id = %(dense_space)s"


class QdrantVectors(PostgresVectors):
    """The ports `VectorIndex`, `EmbeddingQueue` and `VectorOutbox`."""

    def __init__(self, pool: Pool, limits: Limits, engine: Qdrant) -> None:
        super().__init__(pool, limits)
        self.engine = engine
        self._outbox_listener = Listener(pool, CHANNEL)
        self._prepared: set[str] = set()

    async def open(self) -> None:
        """Create collections for spaces that Qdrant does not have yet."""
        for space in await self.spaces():
            await self._adopt(space)

    async def close(self) -> None:
        await self._outbox_listener.close()
        await super().close()

    async def open_space(self, embedder: str, space: Space) -> StoredSpace:
        opened = await super().open_space(embedder, space)
        await self._adopt(opened)
        await self.send_changes()
        return opened

    async def finish(
        self,
        space: StoredSpace,
        done: Sequence[tuple[Any, Sequence[float]]],
        passages: Passages = NO_PASSAGES,
        tokens: Tokens = NO_TOKENS,
    ) -> int:
        kept = await super().finish(space, done, passages, tokens)
        await self.send_changes()
        return kept

    async def build_indexes(self, space: StoredSpace) -> None:  # noqa: ARG002  # all are sent
        """Send everything; Qdrant builds its indexes by itself."""
        while await self.drain():
            pass

    async def pending_indexes(self, space: StoredSpace) -> int:
        async with self._pool.transaction(WORKER) as connection:
            cursor = await connection.execute(_OWNERS, {"space": space.id})
            return int((await cursor.fetchone() or {"owners": 0})["owners"])

    async def drop_space(self, space: StoredSpace) -> None:
        await self.give_up(space)
        await self.drop_collection(space)
        await super().drop_space(space)
        await self.send_changes()

    async def drop_collection(self, space: StoredSpace) -> None:
        """Stop sending the space to Qdrant, and have its copy removed."""
        async with self._pool.transaction(WORKER) as connection:
            cursor = await connection.execute(_UNNAME, {"space": space.id})
            for row in await cursor.fetchall():
                await connection.execute(_FORGET, row)
                await connection.execute(_DROP_LATER, row)

    async def rebuild(self) -> None:
        """Give every space a new collection, and remove the old ones."""
        for space in await self.spaces():
            await self.drop_collection(space)
            await self._adopt(space)

    async def leave(self) -> None:
        """Build the indexes in Postgres, then have every collection removed. From then on searches
        use Postgres, even if the settings still name Qdrant.
        """
        for space in await self.spaces():
            if space.state == "active":
                await super().build_indexes(space)
            await self.drop_collection(space)

    async def describe(self) -> str:
        async with self._pool.transaction(WORKER) as connection:
            rows = await _read_collections(connection)
        counts = [await self.engine.count(row["collection"]) for row in rows]
        return f"Qdrant {await self.engine.version()} has {sum(counts):,} vectors"

    async def unsent(self, owner: str | None = None) -> int:
        async with self._pool.transaction(WORKER if owner is None else owner) as connection:
            cursor = await connection.execute(limit_to(owner, _LEFT), {"owner": owner})
            return int((await cursor.fetchone() or {"waiting": 0})["waiting"])

    async def wait_for_changes(self, seconds: float) -> None:
        await self._outbox_listener.wait(seconds)

    async def drain(self) -> int:
        """Send a batch from the outbox, and remove collections that no space uses any more. Returns
        the number of memories sent.
        """
        await self._prepare()
        async with self._pool.transaction(WORKER) as connection:
            await connection.execute(_LOCK)
            cursor = await connection.execute(_WAITING, {"limit": BATCH})
            waiting = await cursor.fetchall()
            rows = await _read_collections(connection)
            spaces = {row["collection"]: row["space"] for row in rows}
            for (owner, collection), group in groupby(
                waiting, key=itemgetter("owner", "collection")
            ):
                ids = [row["memory_id"] for row in group]
                if collection not in spaces:
                    await self.engine.drop(collection)
                    self._prepared.discard(collection)
                    continue
                values = {"owner": owner, "ids": ids, "space": spaces[collection]}
                cursor = await connection.execute(_POINTS, values)
                points = [Point(**row) for row in await cursor.fetchall()]
                await self.engine.write(collection, owner, ids, points)
            for owner, part in self._split(waiting, itemgetter("owner")):
                params = {
                    "owner": owner,
                    "owners": sorted({row["owner"] for row in part}),
                    "ids": [id for row in part for id in row["ids"]],
                }
                await connection.execute(limit_to(owner, _SENT), params)
        return sum(row["memory_id"] is not None for row in waiting)

    @retry_on_disconnect
    async def survey(self, owner: str, scope: Scope) -> Survey:
        found = await super().survey(owner, scope)
        return Survey(found.space, use_index=True, has_passages=found.has_passages)

    @retry_on_disconnect
    async def nearest(self, owner: str, scope: Scope, query: VectorQuery) -> list[Candidate]:
        if query.depth < 1:
            return []
        vector = unit_vector(query.space.space, query.vector)
        collection, unsent = await self._read_unsent(owner, query.space)
        if collection is None:  # the space is not in Qdrant yet, or no longer
            plan = await super().survey(owner, scope)
            query = replace(query, use_index=plan.use_index)
            return await super().nearest(owner, scope, query)
        where = to_filter(owner, scope, query.exclude)
        limit = query.depth * (OVERFETCH if query.has_passages else 1)
        while True:
            hits = await self.engine.search(collection, where, vector, limit)
            found = await self._confirm(owner, scope, query, {*hits, *unsent})
            if len(found) == query.depth or len(hits) < limit:
                break
            limit *= _GROWTH
        if not query.has_passages or len(hits) < limit:
            return found
        # Texts of one passage gain nothing by chance, and may be before nearer passages.
        where = to_filter(owner, scope, query.exclude, whole=True)
        whole = await self.engine.search(collection, where, vector, query.depth)
        more = await self._confirm(owner, scope, query, set(whole))
        return merge(found, more)[: query.depth]

    async def _read_unsent(self, owner: str, space: StoredSpace) -> tuple[str | None, list[UUID]]:
        """Read what Qdrant may lack. Must run before Qdrant is searched."""
        values = {"owner": owner, "dense_space": space.id}
        async with self._pool.reading(owner) as connection:
            ((collection,),), unsent = await execute_many(
                connection, values, _COLLECTION, _UNSENT
            ) or [[(None,)], []]
        return collection, [id for (id,) in unsent]

    async def _confirm(
        self, owner: str, scope: Scope, query: VectorQuery, ids: set[UUID]
    ) -> list[Candidate]:
        condition, params = within(owner, scope, query.exclude)
        among = Condition(f"{condition} and m.id = any(%(dense_among)s)")
        values: Mapping[str, Any] = {**params, "dense_among": sorted(ids)}
        async with self._pool.reading(owner) as connection:
            return await compare_vectors(connection, query, among, values)

    async def _adopt(self, space: StoredSpace) -> None:
        values = {"space": space.id, "collection": f"recollect-{space.id}-{token_hex(8)}"}
        async with self._pool.transaction(WORKER) as connection:
            await connection.execute(_NAME, values)

    async def _prepare(self) -> None:
        """Create missing collections, new ones and those that Qdrant has lost, and send everything
        that belongs there. In this order: a crash in between must not leave an empty collection
        that counts as filled.
        """
        async with self._pool.transaction(WORKER) as connection:
            rows = await _read_collections(connection)
        for row in rows:
            collection = row["collection"]
            is_there = await self.engine.exists(collection)
            if not is_there:
                async with self._pool.transaction(WORKER) as connection:
                    await connection.execute(_ENQUEUE, row)
            if not is_there or collection not in self._prepared:
                await self.engine.create(collection, row["dimension"])
                self._prepared.add(collection)

    async def send_changes(self) -> None:
        """Send changes now, so that recall finds them; the worker retries what fails."""
        with suppress(StoreError):
            while await self.drain():
                pass


async def _read_collections(connection: Connection) -> list[dict[str, Any]]:
    return await (await connection.execute(_COLLECTIONS)).fetchall()
