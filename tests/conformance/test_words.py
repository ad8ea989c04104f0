"""The lexical leg's order rules. They state places, never raw scores."""

from __future__ import annotations

import pytest
from tests.conformance.samples import OWNER, fill, fill_background, ids, memory, search

from recollect.core.memory.memory import EVERYWHERE
from recollect.core.recall.settings import WordQuery
from recollect.ports.stores import MemoryStore

pytestmark = pytest.mark.anyio


async def test_a_memory_with_every_word_is_before_one_with_some(store: MemoryStore) -> None:
    await fill_background(store)
    await fill(
        store,
        memory(1, "The staging server has a new certificate"),
        memory(2, "The staging database has a new password"),
        memory(3, "The billing database has a new index"),
    )
    found = await search(store, "staging database")
    assert found[0] == ids(2)[0]
    assert sorted(found) == ids(1, 2, 3)


async def test_every_word_has_a_place_before_any_word(store: MemoryStore) -> None:
    """However well the others match, the one memory that holds every word is in the answer."""
    await fill_background(store)
    await fill(store, *(memory(n, "certificate certificate certificate") for n in range(1, 6)))
    await store.add(memory(9, "certificate of the lighthouse " + "and many other things " * 20))
    assert ids(9)[0] in await search(store, "lighthouse certificate", depth=3)


async def test_a_rare_word_beats_a_common_one(store: MemoryStore) -> None:
    await fill_background(store)
    await fill(store, *(memory(n, f"The server number {n} was restarted") for n in range(10, 16)))
    await fill(store, memory(1, "The server was restarted"), memory(2, "The falcon was restarted"))
    assert (await search(store, "server falcon"))[0] == ids(2)[0]


async def test_the_four_fields_in_the_order_of_their_weights(store: MemoryStore) -> None:
    await fill_background(store)
    await fill(
        store,
        memory(4, "written down one day", category="lesson"),
        memory(3, "written down one day", tags=("lesson",)),
        memory(2, "written down one day", expanded_keywords=("lesson",)),
        memory(1, "written down one lesson"),
    )
    assert await search(store, "lesson") == ids(1, 2, 3, 4)


async def test_a_short_memory_is_before_a_long_one_with_the_same_word(store: MemoryStore) -> None:
    await fill_background(store)
    long = "The certificate was mentioned once in a report about " + "gardens and trains " * 6
    await fill(store, memory(1, long), memory(2, "The certificate"))
    assert await search(store, "certificate") == ids(2, 1)


async def test_equal_matches_are_ordered_by_id(store: MemoryStore) -> None:
    await fill(store, *(memory(number, "the same harbour") for number in (3, 1, 2)))
    assert await search(store, "harbour") == ids(1, 2, 3)
    assert await search(store, "harbour", depth=2) == ids(1, 2)


async def test_scores_never_rise_along_the_order_and_never_fall_below_0(store: MemoryStore) -> None:
    await fill_background(store)
    await fill(
        store,
        memory(1, "staging database staging database"),
        memory(2, "a database"),
        memory(3, "a staging area, large and far away", tags=("database",)),
    )
    found = await store.search_words(OWNER, EVERYWHERE, WordQuery("staging database", "kitten"))
    scores = [candidate.score for candidate in found]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] >= 0.0


async def test_expanded_words_widen_and_do_not_narrow(store: MemoryStore) -> None:
    await fill_background(store)
    await fill(store, memory(1, "Fix the login page"), memory(2, "Authentication uses tokens"))
    assert await search(store, "login") == ids(1)
    assert sorted(await search(store, "login", expanded="authentication oauth")) == ids(1, 2)
    assert await search(store, "", expanded="authentication") == ids(2)


STEMS = (
    ("deploy", "Deploys happen on Friday"),
    ("deploying", "She deployed it"),
    ("database", "All databases are backed up"),
    ("caches", "The cache is cold"),
    ("running", "It runs at night"),
    ("policies", "The policy is strict"),
)


@pytest.mark.parametrize(("query", "content"), STEMS)
async def test_endings_do_not_matter(store: MemoryStore, query: str, content: str) -> None:
    await fill(store, memory(1, content), memory(2, "Something else"))
    assert await search(store, query) == ids(1)


@pytest.mark.parametrize("query", ["HARBOUR", "harbour?", "(harbour)", "Harbour's", "old_harbour"])
async def test_case_and_punctuation_do_not_matter(store: MemoryStore, query: str) -> None:
    await fill(store, memory(1, "The Harbour!"), memory(2, "Something else"))
    assert await search(store, query) == ids(1)


async def test_words_of_other_alphabets_are_words(store: MemoryStore) -> None:
    await fill(store, memory(1, "שלום עולם"), memory(2, "Доброе утро"), memory(3, "smörgås"))
    assert await search(store, "עולם") == ids(1)
    assert await search(store, "УТРО") == ids(2)
    assert await search(store, "smo\u0308rga\u030as") == ids(3)


async def test_a_part_of_a_word_is_not_the_word(store: MemoryStore) -> None:
    await fill(store, memory(1, "The start of it"), memory(2, "The art of it"))
    assert await search(store, "art") == ids(2)


async def test_no_more_than_the_depth(store: MemoryStore) -> None:
    await fill(store, *(memory(number, "one harbour") for number in range(1, 31)))
    assert await search(store, "harbour", depth=7) == ids(*range(1, 8))
    assert len(await search(store, "one harbour", depth=7)) == 7


async def test_a_long_prompt_takes_no_evidence_away(store: MemoryStore) -> None:
    """A memory that answers a part of it cannot hold the words of the rest."""
    await fill_background(store)
    await store.add(memory(1, "In the storm the falcon nests in the lighthouse"))
    others = [f"{first}{second}orum" for first in "bdfgklmnprst" for second in "aeiou"]

    async def evidence(count: int) -> float:
        words = " ".join(("falcon nests", *others[:count], "lighthouse storm"))
        (found, *_) = await store.search_words(OWNER, EVERYWHERE, WordQuery(words))
        assert found.id == ids(1)[0]
        return found.evidence

    assert await evidence(4) == pytest.approx(0.5, abs=0.05)
    assert 0.1 < await evidence(30) < 0.2
    assert await evidence(60) == pytest.approx(await evidence(30))
