"""After the analyzer has changed, memories are analyzed again without a change visible to sync."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from tests.conformance.samples import OWNER, ids, memory, search

from recollect.adapters.postgres.store import PostgresStore
from recollect.core.memory.memory import EVERYWHERE
from recollect.core.recall.settings import WordQuery
from recollect.core.text.terms import VERSION
from recollect.usecases.workers.steps import AnalysisStep
from recollect.usecases.workers.worker import Worker

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(database_url) as opened:
        yield opened


def outdate(url: str) -> None:
    """Leave the rows as an earlier version did, which found no terms in them."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("select set_config('recollect.analyzing', 'on', false)")
        connection.execute("update memories set search_vector = '', languages = '', analyzer = 0")
        connection.execute("update memory_versions set search_vector = '', analyzer = 0")


def positions(url: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute("select * from changes order by memory_id").fetchall()


async def test_the_worker_analyzes_what_is_outdated(
    store: PostgresStore, database_url: str
) -> None:
    first = memory(1, "Die Häuser sind alt")
    await store.add(first)
    await store.add(memory(2, "緑茶を飲む"))
    later = first.updated_at + timedelta(minutes=1)
    edited = replace(first, content="Die Straße ist neu", version=2, updated_at=later)
    assert await store.replace(edited, based_on=1)
    outdate(database_url)
    before = positions(database_url)
    assert await search(store, "緑茶") == []
    await Worker(AnalysisStep(store)).work_off()
    assert await search(store, "緑茶") == ids(2)
    assert await search(store, "Straßen") == ids(1)
    then = WordQuery("Haus", as_of=first.updated_at)
    assert [hit.id for hit in await store.search_words(OWNER, EVERYWHERE, then)] == ids(1)
    assert positions(database_url) == before, "no client has to pull them again"
    with psycopg.connect(database_url) as connection:
        kept = connection.execute("select distinct analyzer from memories").fetchall()
    assert kept == [(VERSION,)]


async def test_reanalyze_takes_a_batch_at_a_time(store: PostgresStore, database_url: str) -> None:
    await store.add_many([memory(number, "harbour") for number in range(1, 8)])
    outdate(database_url)
    assert [await store.reanalyze(3) for _ in range(4)] == [3, 3, 1, 0]
    assert len(await search(store, "harbour")) == 7
