"""Words on SQLite: common ones are scored only in memories that also have rarer ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from tests.conformance.samples import OWNER, ids, memory

from recollect.adapters.sqlite.lexical import search
from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.core.recall.settings import WordQuery

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """All memories have `common`, every third `usual`, some others `other`, and one `single`."""
    async with SqliteStore(tmp_path / "memories.db") as store:
        await store.add_all([memory(number, _text(number)) for number in range(1, 301)])
        yield store


def _text(number: int) -> str:
    words = ["common"] * (number % 4 + 1)
    words += ["usual"] * (number % 3 == 0)
    words += ["other"] * (number % 30 == 1)
    words += ["single"] * (number == 7)
    return " ".join(words)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_MAX_RARE", 10)
    monkeypatch.setattr(search, "_RARE_PER_HIT", 1)


@pytest.mark.parametrize(
    "text", ["common single", "common usual", "usual other", "common usual other single", "common"]
)
async def test_the_order_is_that_of_an_exhaustive_search(store: SqliteStore, text: str) -> None:
    query = WordQuery(text, depth=5)
    found = await store.search_words(OWNER, EVERYWHERE, query)
    assert len(found) == 5, "a word that few memories hold does not leave out the others"
    exhaustive = replace(query, is_exhaustive=True)
    assert found == await store.search_words(OWNER, EVERYWHERE, exhaustive)


async def test_a_small_scope_and_another_owner_have_all_their_hits(store: SqliteStore) -> None:
    await store.add_all(
        [
            *(memory(number, "common", project="small") for number in range(401, 406)),
            *(memory(number, "common", owner="other") for number in range(501, 506)),
        ]
    )
    query = WordQuery("common usual", depth=5)
    small = await store.search_words(OWNER, Scope(project="small"), query)
    assert {hit.id for hit in small} == set(ids(*range(401, 406)))
    other = await store.search_words("other", EVERYWHERE, query)
    assert {hit.id for hit in other} == set(ids(*range(501, 506)))


async def test_many_common_words_together_beat_a_rare_one(store: SqliteStore) -> None:
    wanted = [f"word{number}" for number in range(6)]
    await store.add_all(
        [
            memory(1_000, " ".join(wanted)),
            *(memory(1_001 + number, wanted[number % 6]) for number in range(120)),
            *(memory(2_000 + number, "scarce") for number in range(15)),
        ]
    )
    query = WordQuery(" ".join(["scarce", *wanted]), depth=5)
    found = await store.search_words(OWNER, EVERYWHERE, query)
    assert found[0].id == UUID(int=1_000)
    exhaustive = replace(query, is_exhaustive=True)
    assert found == await store.search_words(OWNER, EVERYWHERE, exhaustive)


async def test_a_word_that_no_memory_holds_hides_nothing(store: SqliteStore) -> None:
    query = WordQuery("nowhere usual", "other", depth=5)
    found = await store.search_words(OWNER, EVERYWHERE, query)
    exhaustive = replace(query, is_exhaustive=True)
    assert found == await store.search_words(OWNER, EVERYWHERE, exhaustive)


async def test_every_word_counts_more_than_rare_words_that_were_added(store: SqliteStore) -> None:
    query = WordQuery("common usual", "other", depth=5)
    found = await store.search_words(OWNER, EVERYWHERE, query)
    assert {hit.id for hit in found} & set(ids(*range(3, 301, 3)))
