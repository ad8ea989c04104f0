"""One retry for reads whose connection broke.

A Postgres that restarts, or ends a backend, breaks the connections in use and is mostly back at
once. A read can be repeated on another connection. A write must not be: it may have been committed,
with only the answer lost.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from recollect.adapters.postgres.errors import is_disconnect
from recollect.core.errors import StoreUnavailable

Params = ParamSpec("Params")
Result = TypeVar("Result")


def retry_on_disconnect(
    read: Callable[Params, Coroutine[Any, Any, Result]],
) -> Callable[Params, Coroutine[Any, Any, Result]]:
    """For methods that only read. A second disconnect is raised, and so is a Postgres that gives no
    connection at all: the caller has waited for one already.
    """

    @wraps(read)
    async def read_twice(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        try:
            return await read(*args, **kwargs)
        except StoreUnavailable as error:
            if not is_disconnect(error):
                raise
        return await read(*args, **kwargs)

    return read_twice
