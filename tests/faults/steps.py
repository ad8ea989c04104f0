"""Interrupt methods of the vectors at a step, in a worker or command that is to fail there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from recollect.adapters.postgres.access import Who
from recollect.adapters.postgres.pool import Connection, Pool
from recollect.adapters.postgres.vectors.queue import PostgresVectors

Patch = Callable[[Any, str, Any], None]


def act_before_commit(
    method: str, action: Callable[[Connection], Awaitable[None]], patch: Patch = setattr
) -> None:
    """Run an action in each transaction of a method, after its statements and before the commit."""
    real_method = getattr(PostgresVectors, method)
    real_transaction = Pool.transaction
    inside: set[asyncio.Task[Any] | None] = set()

    async def marked(*arguments: Any) -> Any:
        task = asyncio.current_task()
        inside.add(task)
        try:
            return await real_method(*arguments)
        finally:
            inside.discard(task)

    @asynccontextmanager
    async def transaction(pool: Pool, who: Who, **options: Any) -> AsyncIterator[Connection]:
        async with real_transaction(pool, who, **options) as connection:
            yield connection
            if asyncio.current_task() in inside:
                await action(connection)

    patch(PostgresVectors, method, marked)
    patch(Pool, "transaction", transaction)


def stop_at(method: str, moment: str, report: Callable[[], None]) -> None:
    """Stop before or after a method, or inside its transaction, and wait to be killed."""
    real = getattr(PostgresVectors, method)

    async def stop(_: Connection | None = None) -> None:
        report()
        await asyncio.Event().wait()

    async def stopped(*arguments: Any) -> None:
        if moment == "after":
            await real(*arguments)
        await stop()

    if moment == "inside":
        act_before_commit(method, stop)
    else:
        setattr(PostgresVectors, method, stopped)
