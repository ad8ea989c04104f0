"""Recollect on a real Citus cluster, if there is one.

The rest of the suite runs on it as well (tests/citus.py).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.citus import UNDISTRIBUTED, CitusCluster, require_citus
from tests.conformance.graphs import stated
from tests.conformance.samples import OWNER, memory
from tests.conformance.stores import NORTH, SPACE
from tests.conftest import Cluster
from tests.loopback import Loopback
from tests.serving import Running, running
from tests.waiting import wait_until

from recollect.adapters.postgres.distribute import distribute
from recollect.adapters.postgres.distribution import read_distribution_of
from recollect.adapters.postgres.store import PostgresStore
from recollect.core.admin.timeouts import Timeouts
from recollect.core.graph.extraction import BY_RULES
from recollect.core.memory.memory import EVERYWHERE
from recollect.core.recall.settings import WordQuery
from recollect.ports.recall import VectorQuery

pytestmark = pytest.mark.anyio

OTHER = "bob"
MINE = [memory(number, f"The lighthouse keeper number {number}") for number in range(1, 9)]
THEIRS = [replace(one, owner=OTHER, content=f"{one.content}, of another") for one in MINE]


@pytest.fixture
def citus(cluster: Cluster) -> CitusCluster:
    return require_citus(cluster)


@pytest.fixture
def citus_url(citus: CitusCluster) -> Iterator[str]:
    """A database whose tables are not distributed yet."""
    yield citus.create("undistributed", UNDISTRIBUTED)
    citus.drop("undistributed")


@pytest.fixture
async def store(citus: CitusCluster, database_url: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(database_url) as opened:
        assert opened.pool.is_distributed
        await opened.add_many([*MINE, *THEIRS])
        yield opened


async def test_rows_of_before_are_distributed(citus_url: str) -> None:
    async with PostgresStore(citus_url) as before:
        await before.add_many([*MINE, *THEIRS])
    for _ in range(2):  # the second run changes nothing
        found = distribute(citus_url, Timeouts(), shards=4, report=lambda _text, _share: None)
        assert found.is_complete, found
    async with PostgresStore(citus_url) as after:
        for memory in (*MINE, *THEIRS):
            assert await after.get(memory.owner, memory.id) == memory
        page = await after.changes.page(OWNER, UUID(int=7), 0, 100, sensitive=True, count=True)
        assert len(page.memories) == len(MINE)


async def test_owners_are_kept_apart(store: PostgresStore) -> None:
    assert {memory.id for memory in await store.page(OWNER, EVERYWHERE, None, 50)} == {
        memory.id for memory in MINE
    }
    async with store.pool.transaction(OWNER) as connection:
        cursor = await connection.execute("select distinct owner from memories")
        assert await cursor.fetchall() == [{"owner": OWNER}], "the policies hold on the nodes"


async def test_memories_change_with_their_history(store: PostgresStore) -> None:
    changed = replace(MINE[0], content="A blue door", version=2)
    assert await store.replace(changed, based_on=1)
    assert await store.erase(OWNER, MINE[1].id)
    found = await store.search_words(OWNER, EVERYWHERE, WordQuery("blue door", depth=5))
    assert [memory.id for memory in found] == [changed.id]
    page = await store.changes.page(OWNER, UUID(int=7), 0, 100, sensitive=True, count=True)
    assert [memory.id for memory in page.memories][-2:] == [changed.id, MINE[1].id]
    assert page.memories[-1].is_erased


async def test_queues_are_drained_owner_by_owner(store: PostgresStore) -> None:
    assert store.vectors is not None
    space = await store.vectors.open_space("compass", SPACE)
    embedded = 0
    while jobs := await store.vectors.claim(space, 100):
        embedded += await store.vectors.finish(space, [(job, NORTH) for job in jobs])
    assert embedded == len(MINE) + len(THEIRS)
    found = await store.vectors.nearest(
        OWNER, EVERYWHERE, VectorQuery(space, NORTH, use_index=False, depth=50)
    )
    assert {memory.id for memory in found} == {memory.id for memory in MINE}
    extraction = stated(("Ada Byron", "lives in", "Marblehead"))
    read = 0
    while texts := await store.graph.claim(BY_RULES, 100):
        read += await store.graph.finish([(job, extraction) for job in texts], BY_RULES)
    assert read == len(MINE) + len(THEIRS)
    assert len(await store.graph.named(OWNER, ["ada byron", "marblehead"])) == 2


async def test_an_owner_is_erased(store: PostgresStore) -> None:
    erased = await store.light_eraser.erase_owner(OWNER)
    assert erased.memories == len(MINE)
    assert await store.page(OWNER, EVERYWHERE, None, 50) == []
    assert len(await store.page(OTHER, EVERYWHERE, None, 50)) == len(THEIRS)


def find_owners(citus: CitusCluster, url: str) -> list[str]:
    """Return one owner for each node, in the order of the nodes."""
    node_of = """
    select nodeport from pg_dist_placement join pg_dist_node using (groupid)
    where shardid = get_shard_id_for_distribution_column('memories', %s::text)
    """
    found: dict[int, str] = {}
    with psycopg.connect(url) as connection:
        for number in range(100):
            row = connection.execute(node_of, (f"owner {number}",)).fetchone()
            found.setdefault((row or (0,))[0], f"owner {number}")
    return [found[int(conninfo_to_dict(node)["port"] or 0)] for node in citus.nodes]


def test_owners_of_other_nodes_go_on_when_one_is_lost(
    citus: CitusCluster, database_url: str, tmp_path: Path
) -> None:
    """Theirs are stored, found and read in the background, and servers start."""
    *others, cut_off = find_owners(citus, database_url)
    ferry = {"content": "The ferry to Marblehead leaves at six."}

    def read_counts(up: Running, key: str) -> tuple[int, int]:
        with up.client(key) as client:
            stats = client.get("stats").json()
        return stats["embedding"]["embedded"], stats["graph"]["extracted"]

    with Loopback("compatible") as model:
        overrides: dict[str, Any] = {
            "embedder": "compatible/x@8",
            "compatible_url": model.base_url,
            "worker": "inside",
        }
        with running(database_url, tmp_path / "server", **overrides) as up:
            keys = {owner: up.new_key(owner) for owner in (*others, cut_off)}
            with up.client(keys[cut_off]) as client:
                assert client.post("memories", json=ferry).is_success
            wait_until(lambda: read_counts(up, keys[cut_off]) == (1, 1))
            with citus.lose(2) as lost:
                with up.client(keys[cut_off]) as client:
                    refused = client.post("recall", json={"query": "ferry"})
                assert refused.status_code == 503
                assert lost in refused.text
                with up.client(keys[others[0]]) as client:
                    ready = client.get("health/ready").json()
                assert ready == {"status": "ok", "lost_nodes": [lost]}
                assert read_distribution_of(database_url, Timeouts()).lost == (lost,)
                for owner in others:
                    with up.client(keys[owner]) as client:
                        assert client.post("memories", json=ferry).is_success
                wait_until(lambda: all(read_counts(up, keys[o]) == (1, 1) for o in others))
                with up.client(keys[others[0]]) as client:
                    secret = client.post("memories", json={"content": "The bell is cracked."})
                    path = f"memories/{secret.json()['id']}"
                    erased = client.delete(path, params={"forever": True})
                    assert erased.is_success, erased.text
                with running(database_url, tmp_path / "other", **overrides) as started:
                    with started.client(keys[others[0]]) as client:
                        recalled = client.post("recall", json={"query": "when does it leave?"})
                    assert len(recalled.json()["hits"]) == 1, recalled.text
            with up.client(keys[cut_off]) as client:
                assert client.post("memories", json={"content": "Ada moved."}).is_success
            wait_until(lambda: read_counts(up, keys[cut_off]) == (2, 2))
