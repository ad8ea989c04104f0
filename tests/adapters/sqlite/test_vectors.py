"""What SQLite itself guarantees for vectors and the graph, whatever our code does."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.adapters.sqlite.test_upgrades import make_older
from tests.conformance.graphs import read_all
from tests.conformance.samples import OWNER, fill, ids, memory, search
from tests.conformance.stores import NORTH, SPACE, embed_all, embedded, nearest, opened, rows

from recollect.adapters.sqlite.history.owner_erasure import SqliteOwnerErasure
from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.privacy.erasure import Marks
from recollect.core.recall.space import EmbeddingProgress

pytestmark = pytest.mark.anyio

CANARY = "Quetzalcoatlus"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with SqliteStore(tmp_path / "memories.db") as opened:
        yield opened


FORGED = {
    "a vector": "insert into embeddings (owner, memory, space_id, vector) values ('ada', 1, 1, '')",
    "a mark of its own": (
        "insert into embeddings (owner, memory, space_id, sensitive) values ('ada', 1, 1, 1)"
    ),
    "an extraction": "insert into extractions (owner, memory) values ('ada', 1)",
    "a mention": (
        "insert into memory_concepts (owner, memory, key, concept_id) values ('ada', 1, 'k', 'c')"
    ),
    "evidence": (
        "insert into edge_evidence (owner, edge_id, memory, source_key, target_key, stated_at)"
        " values ('ada', 'e', 1, 'k', 'k', 0)"
    ),
    "context": "insert into embedding_context (owner, before, embedding) values ('ada', 1, 1)",
}


@pytest.mark.parametrize("statement", FORGED.values(), ids=FORGED.keys())
async def test_sqlite_refuses_rows_of_a_sensitive_memory(
    store: SqliteStore, statement: str
) -> None:
    await store.vectors.open_space("compass", SPACE)
    await fill(store, memory(1, is_sensitive=True), memory(2))
    await rows(store, "insert into concepts values ('ada', 'c', 'other', 'Other', 'name', null, 0)")
    await rows(
        store,
        "insert into concept_edges (owner, id, source, target, relation, valid_from, learned_at)"
        " values ('ada', 'e', 'c', 'c', 'r', 0, 0)",
    )

    def forge(writer: sqlite3.Connection) -> None:
        with pytest.raises(sqlite3.IntegrityError, match=r"FOREIGN KEY|CHECK"):
            writer.execute(statement.replace("''", "x'00'"))

    await store.threads.writer.run(forge)


@pytest.mark.parametrize("triggers", [("embeddings_outdated",), ("graph_hidden",)])
async def test_sqlite_refuses_to_leave_a_row_behind(
    store: SqliteStore, triggers: tuple[str, ...]
) -> None:
    """Without the trigger, which removes it in time, the change itself fails."""
    space = await store.vectors.open_space("compass", SPACE)
    await store.add(memory(1, f"about {CANARY}"))
    await embed_all(store.vectors, space)
    await read_all(store)

    def change(writer: sqlite3.Connection) -> None:
        for trigger in triggers:
            writer.execute(f"drop trigger {trigger}")
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            writer.execute("update memories set is_sensitive = 1")

    await store.threads.writer.run(change)


async def test_a_change_that_is_rolled_back_keeps_the_vector(store: SqliteStore) -> None:
    space = await store.vectors.open_space("compass", SPACE)
    await store.add(memory(1))
    await embed_all(store.vectors, space)
    await rows(store, "begin")
    await rows(store, "update memories set is_sensitive = 1")
    assert await embedded(store) == set()
    await rows(store, "rollback")
    assert await embedded(store) == {1}


async def test_erasing_an_owner_leaves_no_vector_and_no_name(store: SqliteStore) -> None:
    space = await store.vectors.open_space("compass", SPACE)
    erased = memory(1, f"Ada works at {CANARY} Ltd. in Zermatt")
    await fill(store, erased, memory(2, owner="eve"))
    await embed_all(store.vectors, space)
    await read_all(store)
    eraser = SqliteOwnerErasure(store.threads)
    await eraser.erase_owner(OWNER)
    _, found = await eraser.remains(Marks(frozenset(ids(1)), frozenset({CANARY}), frozenset()))
    assert found == []
    assert await embedded(store) == {2}
    assert await rows(store, "select 1 from concepts where owner = 'ada'") == []


@pytest.mark.parametrize("version", [1, 2])
async def test_a_store_of_an_older_version_is_embedded_again(tmp_path: Path, version: int) -> None:
    path = tmp_path / "memories.db"
    make_older(path, version)
    async with opened(path) as (store, vectors):
        assert await search(store, "zermatt") == ids(1)
        space = await vectors.open_space("compass", SPACE)
        assert await vectors.progress(space) == EmbeddingProgress(0, 1, 0)
        assert await embed_all(vectors, space, NORTH) == 1
        assert await nearest(vectors, space) == ids(1)
        assert await read_all(store) == 1
        assert (await store.graph.stats(OWNER)).memories == 1
    async with SqliteStore(path) as store:
        assert await search(store, "zermatt") == ids(1)
