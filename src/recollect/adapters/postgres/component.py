"""A part of the store: it holds the pool, and its methods contain the SQL they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import LiteralString, TypeVar

from recollect.adapters.postgres.access import WORKER
from recollect.adapters.postgres.distribution import Row, split_by_owner
from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.pool import Connection, Pool, retry_on_disconnect
from recollect.adapters.postgres.session import PostgresSession
from recollect.adapters.sql.session import SqlComponent, Work

T = TypeVar("T")


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
        """Return whose rows to process one by one: on a cluster, the owners the query finds."""
        if not self._pool.is_distributed:
            return [None]
        cursor = await connection.execute(query, params)
        return [row["owner"] for row in await cursor.fetchall()]
