"""Token vectors exist exactly as long as the vector they belong to, on every store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.conformance.samples import OWNER, fill, ids, memory
from tests.conformance.stores import (
    NORTH,
    SPACE,
    FullStore,
    Place,
    Vectors,
    opened,
    rows,
)
from tests.strategies import MOMENT

from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.memory.memory import EPISODE
from recollect.core.recall.passages import PassageVector
from recollect.core.recall.space import Space, StoredSpace
from recollect.core.text.passages import Span

pytestmark = pytest.mark.anyio

FIRST, SECOND = b"\x00first", b"\xffsecond"
SPANS = Span(0, 10), Span(10, 20)


def whole(*numbers: int) -> dict[UUID, Span | None]:
    """The passages of these memories: each is read as one passage."""
    return dict.fromkeys(ids(*numbers))


async def embed(vectors: Vectors, space: StoredSpace, blocks: Sequence[bytes] = (FIRST,)) -> int:
    """Do every job; each text gets a passage for each block."""
    parts = [PassageVector(span, NORTH) for span in SPANS]
    kept = 0
    while jobs := await vectors.claim(space, 100):
        passages = dict.fromkeys(jobs, parts) if blocks[1:] else {}
        done = [(job, NORTH) for job in jobs]
        kept += await vectors.finish(space, done, passages, dict.fromkeys(jobs, blocks))
    return kept


async def count_blocks(store: FullStore) -> int:
    return len(await rows(store, "select block from token_vectors"))


async def test_tokens_are_those_of_the_named_passage(place: Place) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1))
        await embed(vectors, space, (FIRST, SECOND))
        await fill(store, memory(2), memory(3))
        await embed(vectors, space)
        long, short = ids(1, 2)
        for span, block in zip(SPANS, (FIRST, SECOND), strict=True):
            found = await vectors.token_vectors(OWNER, space, {long: span, short: None})
            assert found == {long: block, short: FIRST}
        no_passage = {long: None, short: Span(3, 4)}
        assert await vectors.token_vectors(OWNER, space, no_passage) == {}
        assert await vectors.token_bytes(space, OWNER) == 3 * len(FIRST) + len(SECOND)


async def test_a_memory_without_tokens_is_left_out(place: Place) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1))
        (job,) = await vectors.claim(space, 1)
        await vectors.finish(space, [(job, NORTH)])
        assert await vectors.token_vectors(OWNER, space, whole(1, 2)) == {}
        assert await vectors.token_vectors(OWNER, space, {}) == {}


async def test_tokens_belong_to_their_owner_and_space(place: Place) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1))
        await embed(vectors, space)
        other = await vectors.open_space("other", Space("other", "1", 2))
        assert await vectors.token_vectors("bob", space, whole(1)) == {}
        assert await vectors.token_bytes(space, "bob") == 0
        assert await vectors.token_vectors(OWNER, other, whole(1)) == {}


async def test_two_spaces_have_their_own_tokens(place: Place) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1))
        await embed(vectors, space)
        other = await vectors.open_space("other", Space("other", "1", 2))
        await embed(vectors, other, (SECOND,))
        assert await vectors.token_vectors(OWNER, space, whole(1)) == {ids(1)[0]: FIRST}
        assert await vectors.token_vectors(OWNER, other, whole(1)) == {ids(1)[0]: SECOND}
        await vectors.drop_space(other)
        assert await count_blocks(store) == 1


@pytest.mark.parametrize(
    "change",
    [{"content": "other words"}, {"is_sensitive": True}, {"deleted_at": MOMENT}],
    ids=["changed", "sensitive", "forgotten"],
)
async def test_no_tokens_outlive_their_text(place: Place, change: dict[str, Any]) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1))
        await embed(vectors, space, (FIRST, SECOND))
        await store.replace(replace(memory(1), version=2, **change), based_on=1)
        assert await count_blocks(store) == 0
        assert await vectors.token_vectors(OWNER, space, whole(1)) == {}


async def test_erasing_a_memory_erases_its_tokens(place: Place) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1))
        await embed(vectors, space, (FIRST, SECOND))
        await store.erase(OWNER, ids(1)[0])
        assert await count_blocks(store) == 0


async def test_tokens_go_when_a_turn_that_was_read_with_them_changes(place: Place) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        turns = [
            memory(number, text, category=EPISODE, session="chat")
            for number, text in enumerate(("which port?", "7443", "bye"), start=1)
        ]
        await fill(store, *turns)
        await embed(vectors, space)
        await rows(store, "update memories set content = 'which?' where id = %s", ids(1)[0])
        assert await count_blocks(store) == 0
        await embed(vectors, space, (SECOND,))
        found = await vectors.token_vectors(OWNER, space, whole(1, 2, 3))
        assert found == dict.fromkeys(ids(1, 2, 3), SECOND)


async def test_tokens_of_an_older_text_are_refused_with_its_vector(place: Place) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1))
        (job,) = await vectors.claim(space, 1)
        await store.replace(replace(memory(1), version=2, content="other words"), based_on=1)
        assert await vectors.finish(space, [(job, NORTH)], {}, {job: [FIRST]}) == 0
        assert await count_blocks(store) == 0


async def test_the_database_refuses_tokens_of_a_sensitive_memory(place: Place) -> None:
    """They need the row of a vector, and that row cannot exist."""
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, memory(1, is_sensitive=True))
        assert await vectors.claim(space, 1) == []
        with pytest.raises(Exception, match=r"(?i)foreign ?key"):
            await insert_tokens(store, space)


async def insert_tokens(store: FullStore, space: StoredSpace) -> None:
    if isinstance(store, SqliteStore):
        await rows(store, "insert into token_vectors (embedding, block) values (1, x'00')")
    else:
        await rows(
            store,
            "insert into token_vectors (owner, memory_id, space_id, passage, block)"
            " values (%s, %s, %s, 0, 'x')",
            OWNER,
            ids(1)[0],
            space.id,
        )
