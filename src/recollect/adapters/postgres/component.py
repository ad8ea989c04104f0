"""A part of the store: it holds the pool, and its methods contain the SQL they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, LiteralString, TypeVar

from recollect.adapters.postgres.access import WORKER
from recollect.adapters.postgres.distribution import Row, split_by_owner
from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.pipeline import Session
from recollect.adapters.postgres.pool import Connection, Pool, retry_on_disconnect
from recollect.adapters.postgres.session import PostgresSession
from recollect.adapters.sql.session import SqlComponent, Work

T = TypeVar("T")

_MAX_OWNERS: Final = 100
# In random order, so that all have their turn. Owners without a key wait for the node.
_KNOWN_OWNERS: Final = "select owner from keys group by owner order by random()"
_REACHABLE_OWNERS: Final = """
select o.owner from unnest(%(owners)s::text[]) with ordinality o(owner, number)
join pg_dist_placement p
    on p.shardid = get_shard_id_for_distribution_column('memories'::regclass, o.owner)
join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
where n.nodename || ':' || n.nodeport <> all(%(lost)s::text[])
order by o.number limit %(limit)s
"""


class PostgresComponent(SqlComponent):
    """Each method consists of transactions or reads on the pool, and no state outlives them, so it
    works behind a transaction-pooling PgBouncer.
    """

    def __init__(self, pool: Pool, limits: Limits) -> None:
        self._pool = pool
        self._limits = limits

    @retry_on_disconnect
    async def _read(self, owner: str | None, work: Work[T]) -> T:
        async with self._pool.reading(WORKER if owner is None else owner) as connection:
            return await work(PostgresSession(connection))

    async def _write(self, owner: str | None, work: Work[T]) -> T:
        async with self._pool.transaction(WORKER if owner is None else owner) as connection:
            return await work(PostgresSession(connection))

    def _split(
        self, rows: Sequence[Row], owner_of: Callable[[Row], str]
    ) -> Iterable[tuple[str | None, Sequence[Row]]]:
        return split_by_owner(rows, owner_of, is_distributed=self._pool.is_distributed)

    async def _owners(
        self, connection: Connection, query: LiteralString, params: Mapping[str, object]
    ) -> Sequence[str | None]:
        """Return whose rows to process one by one: on a cluster, the owners the query finds. If a
        node was lost, the query would fail: some of the owners on other nodes.
        """
        if not self._pool.is_distributed:
            return [None]
        if lost := self._pool.lost_nodes:
            return await find_reachable_owners(connection, lost)
        cursor = await connection.execute(query, params)
        return [row["owner"] for row in await cursor.fetchall()]


async def find_reachable_owners(connection: Session, lost: Sequence[str]) -> list[str]:
    """Return some of the owners whose rows are on other nodes than the lost ones."""
    cursor = await connection.execute(_KNOWN_OWNERS, {})
    owners = [row["owner"] for row in await cursor.fetchall()]
    params = {"owners": owners, "lost": [*lost], "limit": _MAX_OWNERS}
    cursor = await connection.execute(_REACHABLE_OWNERS, params)
    return [row["owner"] for row in await cursor.fetchall()]
