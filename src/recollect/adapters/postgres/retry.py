"""One more try for what only reads, when its connection was lost under it.

A Postgres that restarts, or ends a backend, breaks the connections that are in use, and mostly is
back at once. What only reads can be asked again on another connection. What writes must not be:
it may have been committed, and nothing but the answer lost.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from recollect.adapters.postgres.errors import was_lost
from recollect.core.errors import StoreUnavailable

Params = ParamSpec("Params")
Answer = TypeVar("Answer")


def retry_on_disconnect(
    read: Callable[Params, Coroutine[Any, Any, Answer]],
) -> Callable[Params, Coroutine[Any, Any, Answer]]:
    """For methods that change nothing. A second loss is told, and so is a Postgres that gives no
    connection at all: whoever asked has waited for one already.
    """

    @wraps(read)
    async def reading(*args: Params.args, **kwargs: Params.kwargs) -> Answer:
        try:
            return await read(*args, **kwargs)
        except StoreUnavailable as error:
            if not was_lost(error):
                raise
        return await read(*args, **kwargs)

    return reading
