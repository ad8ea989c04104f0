"""Give a client what changed since its last pull: the server's side of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.usecases.admin import settings as tune
from recollect.usecases.sync.push import may_leave

if TYPE_CHECKING:
    from recollect.core.sync.model import ChangePage
    from recollect.ports.sync import ChangeStore
    from recollect.usecases.context import Context

MAX_PULL = 500


async def pull(
    context: Context,
    changes: ChangeStore,
    owner: str,
    store: UUID,
    cursor: int,
    limit: int,
    *,
    sensitive: bool,
    count: bool,
) -> ChangePage:
    """One page of changes behind a cursor. A client that has read a page has seen all changes
    before it, also those whose transaction took long (docs/adr/0018). Each page carries how recall
    ranks here, so that a client's own recall ranks the same.
    """
    if not 1 <= limit <= MAX_PULL:
        raise InvalidInput(
            f"limit {limit} is outside 1..{MAX_PULL}",
            field="limit",
            remedy=f"Ask for 1 to {MAX_PULL} changes at once.",
        )
    page = await changes.page(owner, store, cursor, limit, sensitive=sensitive, count=count)
    memories = (may_leave(memory, sensitive=sensitive) for memory in page.memories)
    return replace(
        page,
        memories=tuple(memory for memory in memories if memory is not None),
        settings=(await tune.settings(context)).as_dict(),
    )
