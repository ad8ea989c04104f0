"""Split any iterable of memories into batches that a store accepts."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from recollect.core.errors import InvalidInput
from recollect.core.memory.batch import MAX_BATCH, BatchItem
from recollect.core.memory.memory import Draft

# A text, a draft, or a draft's fields by name.
Rememberable = str | Draft | Mapping[str, Any]


def batches(items: Iterable[Rememberable]) -> Iterator[list[Rememberable]]:
    """Yield batches of up to the store's limit, without reading ahead."""
    _check_several(items)
    remaining = iter(items)
    while batch := list(islice(remaining, MAX_BATCH)):
        yield batch


async def async_batches(
    items: Iterable[Rememberable] | AsyncIterable[Rememberable],
) -> AsyncIterator[list[Rememberable]]:
    if not isinstance(items, AsyncIterable):
        for batch in batches(items):
            yield batch
        return
    batch = []
    async for item in items:
        batch.append(item)
        if len(batch) == MAX_BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def to_item(item: Rememberable) -> BatchItem:
    from recollect.wire.inputs import read_item

    if isinstance(item, str):
        return Draft(item)
    if isinstance(item, Draft):
        return item
    if not isinstance(item, Mapping):
        return read_item(item)
    tuples = {name: [*value] for name, value in item.items() if isinstance(value, tuple)}
    return read_item({**item, **tuples})


def _check_several(items: object) -> None:
    if isinstance(items, str | Mapping):
        raise InvalidInput(
            "memories is one memory, not several",
            field="memories",
            remedy="Put it in a list, or store it with `remember`.",
        )
