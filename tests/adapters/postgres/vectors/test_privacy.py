"""Sensitive memories have no vector: Postgres enforces it, not only our code."""

from __future__ import annotations

from uuid import UUID

import psycopg
import pytest
from tests.conformance.samples import ids, memory
from tests.conformance.stores import NORTH, SPACE, embed_all, opened, rows

from recollect.core.recall.space import Space

pytestmark = pytest.mark.anyio

_FORGE = """
insert into embeddings (owner, space_id, memory_id, content_hash, vector)
values ('ada', %s, %s, '', '[1,0]')
"""
_OF_MEMORY = "select vector from embeddings where memory_id = %s"


async def test_postgres_refuses_a_vector_of_a_sensitive_memory(emptied_database_url: str) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add(memory(1, is_sensitive=True))
        assert await rows(store, _OF_MEMORY, UUID(int=1)) == []
        assert await vectors.claim(space, 10) == []
    space_id = space.id
    with (
        psycopg.connect(emptied_database_url) as connection,
        pytest.raises(psycopg.errors.ForeignKeyViolation, match="embeddings_of_what_may_leave"),
    ):
        connection.execute(_FORGE, (space_id, UUID(int=1)))
    with (
        psycopg.connect(emptied_database_url) as connection,
        pytest.raises(psycopg.errors.GeneratedAlways),
    ):
        connection.execute(
            "insert into embeddings (owner, space_id, memory_id, content_hash, sensitive)"
            " values ('ada', %s, %s, '', true)",
            (space_id, UUID(int=1)),
        )


async def test_postgres_refuses_to_leave_a_vector_behind(emptied_database_url: str) -> None:
    """With the trigger off, which removes it in time, the change itself fails."""
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add(memory(1))
        await embed_all(vectors, space)
    with psycopg.connect(emptied_database_url) as connection:
        connection.execute("alter table memories disable trigger embeddings_outdated")
        with pytest.raises(
            psycopg.errors.ForeignKeyViolation, match="embeddings_of_what_may_leave"
        ):
            connection.execute("update memories set is_sensitive = true")


async def test_becoming_sensitive_removes_every_vector_in_the_same_transaction(
    emptied_database_url: str,
) -> None:
    count = "select count(*) from embeddings where memory_id = %s and vector is not null"
    async with opened(emptied_database_url) as (store, vectors):
        first = await vectors.open_space("compass", SPACE)
        await store.add_many([memory(1), memory(2)])
        await embed_all(vectors, first)
        second = await vectors.open_space("other", Space("other", "1", 3))
        await embed_all(vectors, second, [1.0, 0.0, 0.0])
        await vectors.activate(second)  # the first is retired, and still holds vectors
        with psycopg.connect(emptied_database_url) as changing:
            changing.execute("update memories set is_sensitive = true where id = %s", ids(1))
            assert changing.execute(count, ids(1)).fetchone() == (0,)
            assert (await rows(store, count, *ids(1)))[0]["count"] == 2, "not yet"
            changing.rollback()
        assert (await rows(store, count, *ids(1)))[0]["count"] == 2, "undone together"
        assert await store.replace(memory(1, is_sensitive=True, version=2), based_on=1)
        assert (await rows(store, count, *ids(1)))[0]["count"] == 0
        assert (await rows(store, count, *ids(2)))[0]["count"] == 2


async def test_a_claimed_text_that_became_sensitive_gets_no_vector(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add(memory(1))
        (job,) = await vectors.claim(space, 1)
        await store.replace(memory(1, is_sensitive=True, version=2), based_on=1)
        assert await vectors.finish(space, [(job, NORTH)]) == 0
        assert await rows(store, "select 1 from embeddings") == []
        await store.replace(memory(1, version=3), based_on=2)
        assert len(await vectors.claim(space, 1)) == 1, "it may leave again"
