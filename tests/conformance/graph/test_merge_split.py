"""Concepts merged and split by hand: edges follow the names that their memories used."""

from __future__ import annotations

import json
from dataclasses import replace
from uuid import UUID

import pytest
from tests.conformance.graphs import (
    BEGAN,
    around,
    at,
    concept,
    list_triples,
    memory,
    read_as,
    stated,
)
from tests.conformance.samples import OWNER, fill, ids
from tests.conformance.stores import FullStore

from recollect.core.errors import InvalidInput, NotFound
from recollect.core.graph.extraction import MAX_FACTS
from recollect.usecases.graph.import_facts import import_facts
from recollect.usecases.graph.manage import LocalGraph

pytestmark = pytest.mark.anyio


async def test_merged_concepts_share_what_was_said_of_either(store: FullStore) -> None:
    await fill(store, *(memory(number) for number in (1, 2, 3)))
    await read_as(
        store,
        {
            1: stated(("Postgres", "written in", "C")),
            2: stated(("PostgreSQL", "written in", "C"), ("Ada", "likes", "PostgreSQL")),
            3: stated(("Postgres", "same as", "PostgreSQL")),
        },
    )
    before = await store.graph.version(OWNER)
    merged = await LocalGraph(store.graph, OWNER).merge("PostgreSQL", "Postgres")
    assert (merged.name, merged.aliases, merged.mentions) == ("PostgreSQL", ("Postgres",), 3)
    found = await around(store, "Postgres")
    assert sorted(list_triples(found)) == [
        ("Ada", "likes", "PostgreSQL"),
        ("PostgreSQL", "written in", "C"),
    ]
    (written,) = [edge for edge in found.relationships if edge.relation == "written in"]
    assert written.evidence == tuple(ids(1, 2))
    assert await store.graph.version(OWNER) > before
    snapshot = await store.graph.snapshot(OWNER)
    assert len(snapshot.mention_memories) == 6  # memory 3 mentions one concept, under two names


@pytest.mark.parametrize("is_read_first", [True, False])
async def test_what_a_merge_makes_a_loop_of_ends_nothing(
    store: FullStore, is_read_first: bool
) -> None:
    """Whether read before the merge or after it, the result is the same."""
    jobs = {
        1: stated(("Ada", "works at", "Initech")),
        2: stated(("Ada", "works at", "Countess")),
        3: stated(("Ada", "works at", "Initech")),
        4: stated(("Countess", "knows", "Bob")),
    }
    await fill(store, *(memory(number) for number in jobs))
    waiting = {job.memory_id.int: job for job in await store.graph.claim(1, 10)}
    graph = LocalGraph(store.graph, OWNER)

    async def read(*numbers: int) -> None:
        for number in numbers:
            await store.graph.finish([(waiting[number], jobs[number])], 1)

    await read(*((1, 2, 3, 4) if is_read_first else (1, 4)))
    await graph.merge("Ada", "Countess")
    await read(*(() if is_read_first else (2, 3)))
    found = await around(store, "Ada", history=True)
    employed = [edge for edge in found.relationships if edge.relation == "works at"]
    assert [(edge.valid_from, edge.valid_to) for edge in employed] == [(at(1), None)]
    assert employed[0].evidence == tuple(ids(1, 3))
    await graph.split("Ada", "Countess")
    assert list_triples(await around(store, "Ada", history=True)) == [
        ("Ada", "works at", "Initech"),
        ("Ada", "works at", "Countess"),
        ("Ada", "works at", "Initech"),
    ]


async def test_merged_employees_have_one_employer_at_a_time(store: FullStore) -> None:
    await fill(store, *(memory(number) for number in (1, 2, 3)))
    await read_as(
        store,
        {
            1: stated(("Ada", "works at", "Initech")),
            2: stated(("Countess", "works at", "Globex")),
            3: stated(("Ada", "works at", "Initech")),
        },
    )
    graph = LocalGraph(store.graph, OWNER)
    await graph.merge("Ada", "Countess")
    found = await around(store, "Ada", history=True)
    assert sorted((edge.valid_from, edge.valid_to or at(99)) for edge in found.relationships) == [
        (at(1), at(2)),
        (at(2), at(3)),
        (at(3), at(99)),
    ]
    await graph.split("Ada", "Countess")
    (edge,) = (await around(store, "Ada", history=True)).relationships
    assert (edge.valid_from, edge.valid_to, edge.evidence) == (at(1), None, tuple(ids(1, 3)))


async def test_a_split_gives_each_name_what_was_said_of_it(store: FullStore) -> None:
    graph = LocalGraph(store.graph, OWNER)
    await fill(store, *(memory(number) for number in (1, 2, 3)))
    await read_as(
        store,
        {
            1: stated(("Mercury", "orbits", "Sun")),
            2: stated(("Quicksilver", "is", "Metal")),
            3: stated(("Mercury", "same as", "Quicksilver")),
        },
    )
    await graph.merge("Mercury", "Quicksilver")
    assert len((await around(store, "Mercury")).relationships) == 2
    part = await graph.split("Mercury", "Quicksilver")
    assert (part.name, part.mentions) == ("Quicksilver", 2)
    assert sorted(list_triples(await around(store, "Mercury"))) == [
        ("Mercury", "orbits", "Sun"),
        ("Mercury", "same as", "Quicksilver"),
    ]
    assert ("Quicksilver", "is", "Metal") in list_triples(await around(store, "Quicksilver"))


async def test_the_name_a_concept_is_called_by_can_be_split_off(store: FullStore) -> None:
    graph = LocalGraph(store.graph, OWNER)
    await fill(store, memory(1), memory(2))
    await read_as(store, {1: stated(("Aa", "r", "Xx")), 2: stated(("Bb", "r", "Xx"))})
    await graph.merge("Aa", "Bb")
    await graph.split("Bb", "Aa")
    assert (await around(store, "Bb")).concept.name == "Bb"
    assert (await around(store, "Aa")).concept.name == "Aa"
    assert list_triples(await around(store, "Aa")) == [("Aa", "r", "Xx")]


async def test_a_merge_is_remembered_when_its_memories_are_forgotten(store: FullStore) -> None:
    await fill(store, memory(1), memory(2))
    await read_as(store, {1: stated(("Aa", "r", "Xx")), 2: stated(("Bb", "r", "Xx"))})
    await LocalGraph(store.graph, OWNER).merge("Aa", "Bb")
    for number in (1, 2):
        gone = replace(memory(number), deleted_at=BEGAN, version=2)
        assert await store.replace(gone, based_on=1)
    await fill(store, memory(3))
    await read_as(store, {3: stated(("Bb", "s", "Yy"))})
    assert await concept(store, "Aa") == await concept(store, "Bb") is not None


async def test_merge_does_not_undo_an_edit_by_hand(store: FullStore) -> None:
    await fill(store, memory(1))
    await read_as(store, {1: stated(("Aa", "r", "Bb"), ("Cc", "r", "Dd"))})
    graph = LocalGraph(store.graph, OWNER)
    await graph.merge("Aa", "Bb")
    await graph.split("Aa", "Bb")
    a, b, c = [await concept(store, name) for name in ("Aa", "Bb", "Cc")]
    assert a and b and c  # noqa: PT018  # all three are there
    assert not await store.graph.merge(OWNER, a, b, by_hand=False)
    assert not await store.graph.merge(OWNER, b, a, by_hand=False)
    assert await store.graph.merge(OWNER, a, c, by_hand=False)
    assert not await store.graph.merge("bob", a, b, by_hand=True)


@pytest.mark.parametrize(
    ("concept_name", "alias", "error"),
    [
        ("Aa", "Nobody", NotFound),
        ("Nobody", "Aa", NotFound),
        ("Aa", "Bb", InvalidInput),
        ("Aa", "Aa", InvalidInput),
        ("Aa", "…", InvalidInput),
        ("Aa", "nul\0", InvalidInput),
    ],
)
async def test_split_reports_why_it_is_refused(
    store: FullStore, concept_name: str, alias: str, error: type[Exception]
) -> None:
    await fill(store, memory(1))
    await read_as(store, {1: stated(("Aa", "r", "Bb"))})
    with pytest.raises(error):
        await LocalGraph(store.graph, OWNER).split(concept_name, alias)


LINES = [
    '{"doc": "d1", "entities": ["Ada"], "triples": [["Ada", "Works_At", "Initech"]]}',
    "",
    (
        '{"memory": "d2", "triples": [{"subject": "Ada", "relation": "works at",'
        ' "object": "Globex", "since": "2021-01-01"}]}'
    ),
    '{"entity": "Ada", "type": "Who", "aliases": ["Lady Lovelace"], "docs": ["d1", "d2"]}',
    "nonsense",
    '{"memory": "d1", "colour": "red"}',
    '{"memory": "d9"}',
    '{"memory": "d1", "triples": [["Ada", "knows"]]}',
    "[]",
]


async def test_ready_made_facts_are_imported_once_however_often(store: FullStore) -> None:
    await fill(store, memory(1), memory(2))
    await read_as(store, {1: stated(("Old", "r", "Xx")), 2: stated(("Old", "r", "Xx"))})
    known = {"d1": UUID(int=1), "d2": UUID(int=2)}
    tried = await import_facts(store.graph, OWNER, LINES, ids=known, dry_run=True)
    assert await concept(store, "Ada") is None
    first = await import_facts(store.graph, OWNER, LINES, ids=known)
    assert replace(tried) == first
    assert (first.lines, first.memories, first.facts) == (4, 2, 2)
    assert [error.line for error in first.errors] == [5, 6, 7, 8, 9]
    assert await concept(store, "Old") is None  # replaces the former extraction
    assert await concept(store, "Lady Lovelace") == await concept(store, "Ada")
    found = await around(store, "Ada", history=True)
    assert list_triples(found) == [("Ada", "works at", "Initech"), ("Ada", "works at", "Globex")]
    numbers = await store.graph.stats(OWNER)
    again = await import_facts(store.graph, OWNER, LINES, ids=known)
    assert again == first
    assert replace(await store.graph.stats(OWNER), version=0) == replace(numbers, version=0)
    assert await store.graph.claim(1_000, 10) == []  # no lesser reader reads them again


async def test_import_reports_the_facts_it_skips(store: FullStore) -> None:
    await fill(store, memory(1))
    lines = [
        json.dumps({"memory": "d1", "triples": [["Ada", "knows", f"n{i}"] for i in first]})
        for first in (range(MAX_FACTS - 1), range(MAX_FACTS - 1), range(MAX_FACTS, MAX_FACTS + 4))
    ]
    lines[0] = lines[0].replace("[[", '[["Ada", "is", "the Ada"], [')
    lines.append(json.dumps({"memory": "d1", "triples": [["Ada", "knows " * 20, "n1"]]}))
    # A letter that expands when normalized: 200 of it are a name of 600.
    lines.append(json.dumps({"memory": "d1", "triples": [["Ada", "knows", "\ufb03" * 200]]}))
    known = {"d1": UUID(int=1)}
    tried = await import_facts(store.graph, OWNER, lines, ids=known, dry_run=True)
    done = await import_facts(store.graph, OWNER, lines, ids=known)
    assert tried == done
    assert (done.facts, done.left_out) == (MAX_FACTS, 6)
    assert [(error.line, error.reason) for error in done.errors] == [
        (1, "1 fact is left out: both ends are one and the same name"),
        (3, "3 facts are left out: a memory states at most 500 facts"),
        (4, "1 fact is left out: a relation has at most 100 characters"),
        (5, "1 fact is left out: a name has at most 200 characters"),
    ]
    assert (await store.graph.stats(OWNER)).relationships == MAX_FACTS
