"""A part of the store: it holds the pool, and its methods contain the SQL they run."""

from __future__ import annotations

from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.pool import Pool


class PostgresComponent:
    """Each method is made of transactions or reads on the pool, and nothing outlives them, so all
    of it works behind a transaction-pooling PgBouncer.
    """

    def __init__(self, pool: Pool, limits: Limits) -> None:
        self._pool = pool
        self._limits = limits
