"""One owner is dumped and loaded into another database with the commands of docs/backup.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.conformance.samples import ids, memory
from tests.conformance.stores import NORTH, SPACE, embed_all, nearest, opened
from tests.conftest import Cluster
from tests.docs.test_commands import blocks, run

from recollect.core.memory.links import Link
from recollect.core.memory.memory import EVERYWHERE
from recollect.core.recall.settings import WordQuery

pytestmark = pytest.mark.anyio

ADA, BOB = "ada's \\ laptop", "bob"
# Their rows are not moved, or are created again.
_OTHERS = {"embeddings", "embedding_context", "concept_vectors", "concepts"}
_OWNED = """
select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attname = 'owner'
"""


@pytest.fixture
def other_database_url(cluster: Cluster) -> Iterator[str]:
    yield cluster.create("moved_to")
    cluster.drop("moved_to")


def rows_of(url: str, owner: str) -> dict[str, list[Any]]:
    with psycopg.connect(url) as connection:
        tables = {name for (name,) in connection.execute(_OWNED).fetchall()} - _OTHERS
        query = "select to_jsonb(t) from {} t where owner = %s order by 1"
        return {name: connection.execute(query.format(name), [owner]).fetchall() for name in tables}


async def test_an_owner_is_moved_with_the_documented_commands(
    cluster: Cluster,
    postgres_programs: Path,
    database_url: str,
    other_database_url: str,
    tmp_path: Path,
) -> None:
    dump, load = blocks("backup.md", holding="${OWNER:?}")

    def psql(script: str, **urls: str) -> str:
        as_superuser = {
            name: make_conninfo(cluster.admin_url, dbname=str(conninfo_to_dict(url)["dbname"]))
            for name, url in urls.items()
        }
        step = f"export PATH={postgres_programs}:$PATH\n{script}"
        return run(step, tmp_path, tmp_path, OWNER=ADA, **as_superuser)

    async with opened(database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        link = Link("supersedes", memory(1).id)
        await store.add_many(
            [
                memory(1, "The harbour\tis deep", owner=ADA),
                memory(2, "It was dredged\nin May", owner=ADA, links=(link,)),
                memory(3, "The safe is open", owner=ADA, is_sensitive=True),
                memory(1, "Bob has a violin", owner=BOB),
            ]
        )
        await store.replace(memory(1, "The harbour is deeper", owner=ADA, version=2), based_on=1)
        await embed_all(vectors, space)
    async with opened(other_database_url) as (store, vectors):
        await vectors.open_space("first", SPACE)
        await store.add(memory(7, "Bob lives here", owner=BOB))
    psql(dump, FROM=database_url)
    psql(load, TO=other_database_url)
    before, after = rows_of(database_url, ADA), rows_of(other_database_url, ADA)
    assert len(before["memories"]) == 3
    assert before["memory_links"]
    assert before["memory_versions"]
    assert after == before
    assert len(rows_of(other_database_url, BOB)["memories"]) == 1, "bob stayed where he was"
    async with opened(other_database_url) as (store, vectors):
        (space,) = await vectors.spaces()
        assert await embed_all(vectors, space) == 3
        assert await nearest(vectors, space, NORTH, owner=ADA) == ids(1, 2)
        hits = await store.search_words(ADA, EVERYWHERE, WordQuery("dredged"))
        assert [hit.id for hit in hits] == ids(2)
        await store.add(memory(9, "Written here", owner=ADA))
    with pytest.raises(AssertionError, match="duplicate key"):
        psql(load, TO=other_database_url)
