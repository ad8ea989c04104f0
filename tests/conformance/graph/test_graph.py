"""The concept graph follows its memories: what is read, edited, forgotten, erased."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime
from itertools import permutations
from typing import Any
from uuid import UUID

import pytest
from tests.conformance.graphs import (
    BEGAN,
    around,
    at,
    concept,
    list_triples,
    memory,
    read_all,
    read_as,
    stated,
)
from tests.conformance.samples import OWNER, fill, ids
from tests.conformance.stores import FullStore, make_due, rows

from recollect.core.graph.extraction import BY_IMPORT, BY_MODEL, BY_RULES

pytestmark = pytest.mark.anyio


async def test_what_a_memory_mentions_is_read_once(store: FullStore) -> None:
    await fill(store, memory(1, "Ada Lovelace met Charles Babbage"), memory(2, "Babbage's engine"))
    assert await store.graph.version(OWNER) == 0
    assert await read_all(store) == 2
    assert await store.graph.claim(1, 10) == []
    found = await around(store, "Charles Babbage")
    assert found.memories == (UUID(int=1),)
    assert ("Ada Lovelace", 1) in found.together


async def test_two_spellings_are_one_concept(store: FullStore) -> None:
    await fill(store, memory(1, "We met Zoë Kravitz"), memory(2, "Then ZOE KRAVITZ's film"))
    await read_all(store)
    assert (await around(store, "zoe kravitz")).concept.mentions == 2


async def test_names_are_found_as_they_are_written_and_phrases_are_none(
    store: FullStore,
) -> None:
    await fill(store, memory(1, "the street music of Anna Berg"))
    await read_all(store)
    keys = ("anna berg", "street music", "nobody")
    known = await store.graph.written(OWNER, keys)
    assert known == {"anna berg": (await concept(store, "Anna Berg"), "Anna Berg")}
    assert await concept(store, "street music") is not None
    assert await store.graph.written("somebody else", keys) == {}


async def test_a_memory_of_another_owner_is_another_graph(store: FullStore) -> None:
    await fill(store, memory(1, "about Zanzibar"), memory(2, "about Zanzibar", owner="bob"))
    await read_all(store)
    assert await concept(store, "Zanzibar") != await concept(store, "Zanzibar", "bob")
    assert (await store.graph.snapshot("bob")).memories == (UUID(int=2),)
    assert await store.graph.version("carol") == 0


async def test_a_changed_text_is_not_used_and_is_read_again(store: FullStore) -> None:
    first = memory(1, "about Zanzibar")
    await fill(store, first)
    await read_all(store)
    before = await store.graph.version(OWNER)
    changed = replace(first, content="about Timbuktu", version=2)
    assert await store.replace(changed, based_on=1)
    assert await concept(store, "Zanzibar") is None
    assert await store.graph.version(OWNER) > before
    assert await read_all(store) == 1
    assert await concept(store, "Timbuktu") is not None


async def test_what_was_read_in_an_older_text_is_dropped(store: FullStore) -> None:
    first = memory(1, "about Zanzibar")
    await fill(store, first)
    (job,) = await store.graph.claim(1, 10)
    await store.replace(replace(first, content="about Timbuktu", version=2), based_on=1)
    assert await store.graph.finish([(job, stated(("A", "b", "C")))], 1) == 0
    assert await concept(store, "A") is None


@pytest.mark.parametrize("field", ["tags", "expanded_keywords"])
async def test_tags_and_keywords_are_read_as_well(store: FullStore, field: str) -> None:
    first = memory(1, "something")
    await fill(store, first)
    await read_all(store)
    changes: dict[str, Any] = {field: ("zanzibar",), "version": 2}
    await store.replace(replace(first, **changes), based_on=1)
    await read_all(store)
    assert await concept(store, "zanzibar") is not None


async def test_an_importance_is_no_reason_to_read_again(store: FullStore) -> None:
    first = memory(1, "about Zanzibar")
    await fill(store, first)
    await read_all(store)
    before = await store.graph.version(OWNER)
    await store.replace(replace(first, importance=0.9, version=2), based_on=1)
    assert await read_all(store) == 0
    assert await store.graph.version(OWNER) == before


async def test_forgotten_leaves_the_graph_and_comes_back(store: FullStore) -> None:
    first = memory(1, "about Zanzibar")
    await fill(store, first)
    await read_all(store)
    gone = replace(first, deleted_at=BEGAN, version=2)
    await store.replace(gone, based_on=1)
    assert await concept(store, "Zanzibar") is None
    assert await read_all(store) == 0
    await store.replace(replace(first, version=3), based_on=2)
    assert await read_all(store) == 1
    assert await concept(store, "Zanzibar") is not None


async def test_an_edge_goes_with_its_last_evidence(store: FullStore) -> None:
    await fill(store, memory(1), memory(2))
    fact = stated(("Ada", "knows", "Bob"))
    await read_as(store, {1: fact, 2: fact})
    (edge,) = (await around(store, "Ada")).relationships
    assert edge.evidence == tuple(ids(1, 2))
    assert edge.weight == pytest.approx(1.585, abs=0.001)  # log2(1 + 2)
    await store.erase(OWNER, UUID(int=1))
    (edge,) = (await around(store, "Ada")).relationships
    assert (edge.evidence, edge.weight) == (tuple(ids(2)), 1.0)
    await store.erase(OWNER, UUID(int=2))
    assert await concept(store, "Ada") is None
    for table in ("concepts", "concept_names", "concept_edges", "edge_evidence", "extractions"):
        assert await rows(store, f"select * from {table}") == []


async def test_an_edited_text_takes_back_what_it_said(store: FullStore) -> None:
    first = memory(1)
    await fill(store, first)
    await read_as(store, {1: stated(("Ada", "knows", "Bob"))})
    await store.replace(replace(first, content="other", version=2), based_on=1)
    found = await around(store, "Ada", history=True)
    assert list_triples(found) == [("Ada", "knows", "Bob")]
    assert found.relationships[0].known_until is not None
    assert list_triples(await around(store, "Ada")) == []
    assert list_triples(await around(store, "Ada", at(2))) == [("Ada", "knows", "Bob")]
    await read_as(store, {1: stated(("Ada", "knows", "Bob"))})
    (edge,) = (await around(store, "Ada")).relationships
    assert edge.known_until is None


@pytest.mark.parametrize("order", list(permutations((1, 2, 3))))
async def test_one_relationship_holds_at_a_time_in_whatever_order_they_are_learned(
    store: FullStore, order: tuple[int, ...]
) -> None:
    jobs = {
        1: stated(("Ada", "works at", "Initech")),
        2: stated(("Ada", "works at", "Globex")),
        3: stated(("Ada", "works at", "Initech")),
    }
    await fill(store, *(memory(number) for number in jobs))
    await read_as(store, {number: jobs[number] for number in order})
    found = await around(store, "Ada", history=True)
    assert [
        (found.labels[edge.target], edge.valid_from, edge.valid_to)
        for edge in sorted(found.relationships, key=lambda one: one.valid_from)
    ] == [("Initech", at(1), at(2)), ("Globex", at(2), at(3)), ("Initech", at(3), None)]
    for minutes, employer in ((1, "Initech"), (2, "Globex"), (9, "Initech")):
        (edge,) = (await around(store, "Ada", at(minutes))).relationships
        assert found.labels[edge.target] == employer


@pytest.mark.parametrize("relation", ["knows", "works at"])
@pytest.mark.parametrize("order", list(permutations((1, 2, 3))))
async def test_the_dates_of_a_relationship_are_those_of_all_that_say_it(
    store: FullStore, order: tuple[int, ...], relation: str
) -> None:
    """The end that a text names applies, whoever says the same without one. It does not outlive its
    text, and a memory that says it after that end says that it begins again.
    """
    fact = ("Ada", relation, "Bob")
    jobs = {
        1: stated(fact),
        2: stated(fact, valid_from=at(-5), valid_to=at(30)),
        3: stated(fact, valid_to=at(20)),
    }
    await fill(store, *(memory(number) for number in (*jobs, 40)))
    waiting = {job.memory_id.int: job for job in await store.graph.claim(1, 10)}
    for number in order:
        await store.graph.finish([(waiting[number], jobs[number])], 1)

    async def dates() -> list[tuple[datetime, datetime | None]]:
        found = (await around(store, "Ada", history=True)).relationships
        return sorted((edge.valid_from, edge.valid_to) for edge in found)

    assert await dates() == [(at(-5), at(30))]
    await store.erase(OWNER, UUID(int=2))
    assert await dates() == [(at(1), at(20))]
    await store.graph.finish([(waiting[40], stated(fact))], 1)
    again = [(at(1), None)] if relation == "knows" else [(at(1), at(20)), (at(40), None)]
    assert await dates() == again


async def test_as_of_shows_what_was_said_at_that_moment(store: FullStore) -> None:
    first = memory(1)
    await fill(store, first, memory(3))
    fact = stated(("Ada", "knows", "Bob"))
    await read_as(store, {1: fact, 3: fact})
    await store.replace(replace(first, content="other", version=2), based_on=1)
    (edge,) = (await around(store, "Ada")).relationships
    assert (edge.valid_from, edge.known_until) == (at(3), None)
    assert list_triples(await around(store, "Ada", at(2))) == [("Ada", "knows", "Bob")]
    assert list_triples(await around(store, "Ada", at(0))) == []


@pytest.mark.parametrize("way", ["erased", "edited", "forgotten", "sensitive"])
async def test_a_contradiction_that_is_taken_back_ends_nothing(store: FullStore, way: str) -> None:
    second = memory(2)
    await fill(store, memory(1), second)
    await read_as(
        store,
        {
            1: stated(("Ada", "lives in", "Rome")),
            2: stated(("Ada", "lives in", "Oslo")),
        },
    )
    assert list_triples(await around(store, "Ada")) == [("Ada", "lives in", "Oslo")]
    changes: dict[str, dict[str, Any]] = {
        "edited": {"content": "another text"},
        "forgotten": {"deleted_at": BEGAN},
        "sensitive": {"is_sensitive": True},
    }
    if way == "erased":
        await store.erase(OWNER, UUID(int=2))
    else:
        assert await store.replace(replace(second, version=2, **changes[way]), based_on=1)
    assert list_triples(await around(store, "Ada")) == [("Ada", "lives in", "Rome")]
    (edge,) = (await around(store, "Ada")).relationships
    assert edge.valid_to is None


async def test_a_better_reader_replaces_what_a_lesser_one_found(store: FullStore) -> None:
    await fill(store, memory(1))
    await read_as(store, {1: stated(("Ada", "knows", "Bob"), ("Ada", "likes", "Tea"))})
    await read_as(store, {1: stated(("Ada", "likes", "Tea"))}, by=1_000)
    assert list_triples(await around(store, "Ada")) == [("Ada", "likes", "Tea")]
    assert await concept(store, "Bob") is None
    assert await store.graph.claim(1, 10) == []


async def test_a_failing_text_is_parked_and_tried_again_when_asked(store: FullStore) -> None:
    await fill(store, memory(1))
    for _ in range(8):
        await make_due(store, "extractions")
        jobs = await store.graph.claim(1, 10)
        await store.graph.fail(jobs, "it is odd")
    progress = await store.graph.progress(1)
    assert (progress.waiting, progress.parked, progress.last_error) == (0, 1, "it is odd")
    assert await store.graph.retry_parked() == 1
    assert await read_all(store) == 1


async def test_two_workers_never_have_the_same_memory(store: FullStore) -> None:
    await fill(store, *(memory(number) for number in range(1, 21)))
    claims = await asyncio.gather(*(store.graph.claim(1, 5) for _ in range(6)))
    taken = [job.memory_id for jobs in claims for job in jobs]
    assert len(taken) == len(set(taken)) <= 20


async def test_versions_grow_under_many_writers(store: FullStore) -> None:
    await fill(store, *(memory(number) for number in range(1, 21)))
    jobs = await store.graph.claim(1, 20)
    fact = stated(("Ada", "knows", "Bob"), ("Ada", "lives in", "Rome"))
    writes = (store.graph.finish([(job, fact)], 1) for job in jobs)
    erasures = (store.erase(OWNER, UUID(int=number)) for number in range(1, 6))
    await asyncio.gather(*writes, *erasures)
    assert await store.graph.version(OWNER) >= 15
    edges = (await around(store, "Ada")).relationships
    assert {len(edge.evidence) for edge in edges} == {15}


async def test_a_snapshot_holds_mentions_edges_and_near_synonyms(store: FullStore) -> None:
    await fill(store, memory(1), memory(2))
    await read_as(store, {1: stated(("Ada", "knows", "Bob")), 2: stated(("Bob", "likes", "Tea"))})
    ada, tea = await concept(store, "Ada"), await concept(store, "Tea")
    await rows(
        store,
        "insert into near_concepts (source, target, owner, similarity) values (%s, %s, %s, 0.9)",
        ada,
        tea,
        OWNER,
    )
    found = await store.graph.snapshot(OWNER)
    assert found.memories == tuple(ids(1, 2))
    assert sorted(found.labels) == ["Ada", "Bob", "Tea"]
    assert sorted(
        (found.memories[memory].int, found.labels[concept])
        for memory, concept in zip(found.mention_memories, found.mention_concepts, strict=True)
    ) == [(1, "Ada"), (1, "Bob"), (2, "Bob"), (2, "Tea")]
    assert sorted(
        (found.labels[source], found.labels[target], round(weight, 3))
        for source, target, weight in zip(
            found.edge_sources, found.edge_targets, found.edge_weights, strict=True
        )
    ) == [("Ada", "Bob", 1.0), ("Ada", "Tea", 0.9), ("Bob", "Tea", 1.0)]
    assert (found.near, found.labels[found.edge_targets[-1]], found.by_model) == (1, "Tea", 0.0)
    assert found.version == await store.graph.version(OWNER)
    earlier = await store.graph.snapshot(OWNER, as_of=at(1))
    assert earlier.memories == tuple(ids(1))
    assert len(earlier.edge_sources) == 2
    mentions = [
        (await around(store, "Bob", when)).concept.mentions for when in (None, at(1), at(0))
    ]
    assert mentions == [2, 1, 0]


async def test_reading_and_editing_do_not_wait_crosswise(store: FullStore) -> None:
    """Readers, editors, and callers that hide or erase memories, all at once: none is rejected, and
    what is left is what the memories still say.
    """
    numbers = range(1, 25)
    memories = {number: memory(number) for number in numbers}
    await fill(store, *memories.values())
    fact = stated(("Ada", "knows", "Bob"), ("Ada", "lives in", "Rome"))

    async def read() -> None:
        while jobs := await store.graph.claim(1, 3):
            await store.graph.finish([(job, fact) for job in jobs], 1)

    async def change(number: int) -> None:
        kind = number % 4
        if kind == 0:
            await store.erase(OWNER, UUID(int=number))
        elif kind < 3:
            changed = replace(memories[number], version=2)
            sensitive = replace(changed, is_sensitive=True)
            edited = replace(changed, content="another text")
            await store.replace(sensitive if kind == 1 else edited, based_on=1)

    await asyncio.gather(read(), read(), read(), *(change(number) for number in numbers))
    await read()
    (knows,) = [
        edge for edge in (await around(store, "Ada")).relationships if edge.relation == "knows"
    ]
    assert {id.int % 4 for id in knows.evidence} == {2, 3}
    assert len(knows.evidence) == 12


async def test_a_snapshot_counts_what_a_language_model_has_read(store: FullStore) -> None:
    await fill(store, memory(1), memory(2), memory(3), memory(4, "about Zanzibar", owner="bob"))
    jobs = await store.graph.present(OWNER, [UUID(int=number) for number in (1, 2, 3)])
    readers = {1: BY_MODEL, 2: BY_IMPORT, 3: BY_RULES}
    for job in jobs:
        extraction = stated(("Ada", "knows", "Bob"))
        await store.graph.finish([(job, extraction)], readers[job.memory_id.int])
    assert (await store.graph.snapshot(OWNER)).by_model == pytest.approx(2 / 3)
    assert (await store.graph.snapshot("bob")).by_model == 0.0
