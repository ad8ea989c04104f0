"""How things connect in the graph, which memories say so, and how that was at an earlier time."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.conformance.graphs import around, at, concept, memory, read_as, stated
from tests.conformance.samples import OWNER, fill, ids
from tests.conformance.stores import FullStore

pytestmark = pytest.mark.anyio


async def test_the_paths_that_explain_a_hit(store: FullStore) -> None:
    await fill(store, *(memory(number) for number in range(1, 4)))
    await read_as(
        store,
        {
            1: stated(("Ada", "knows", "Bob")),
            2: stated(("Bob", "likes", "Tea")),
            3: stated(("Tea", "grows in", "Assam")),
        },
    )
    (path,) = await store.graph.paths(OWNER, ids(1), UUID(int=3))
    assert [(step.source_label, step.relation, step.target_label) for step in path.steps] == [
        ("", "mentions", "Bob"),
        ("Bob", "likes", "Tea"),
        ("Tea", "mentions", ""),
    ]
    assert path.steps[1].evidence == tuple(ids(2))
    (short,) = await store.graph.paths(OWNER, ids(2), UUID(int=3))
    assert [step.relation for step in short.steps] == ["mentions", "mentions"]
    assert await store.graph.paths(OWNER, [UUID(int=9)], UUID(int=3)) == []


async def test_how_two_concepts_connect(store: FullStore) -> None:
    await fill(store, *(memory(number) for number in range(1, 4)))
    await read_as(
        store,
        {
            1: stated(("Ada", "knows", "Bob")),
            2: replace(stated(("Bob", "x", "Tea")), facts=()),
            3: stated(("Assam", "grows", "Tea")),
        },
    )
    ada, assam = await concept(store, "Ada"), await concept(store, "Assam")
    assert ada is not None
    assert assam is not None
    path = await store.graph.path(OWNER, ada, assam)
    assert path is not None
    assert [
        (step.source_label, step.relation, step.target_label, *step.evidence) for step in path.steps
    ] == [
        ("Ada", "knows", "Bob", UUID(int=1)),
        ("Bob", "mentioned together", "Tea", UUID(int=2)),
        ("Assam", "grows", "Tea", UUID(int=3)),
    ]
    same = await store.graph.path(OWNER, ada, ada)
    assert same is not None
    assert same.steps == ()


async def test_a_text_that_says_it_no_more_is_no_evidence(store: FullStore) -> None:
    first = memory(1)
    await fill(store, first, memory(2))
    fact = stated(("Ada", "knows", "Bob"))
    await read_as(store, {1: fact, 2: fact})
    await store.replace(replace(first, content="other", version=2), based_on=1)
    ada, bob = await concept(store, "Ada"), await concept(store, "Bob")
    assert ada is not None
    assert bob is not None
    for as_of, numbers in ((None, (2,)), (at(5), (1, 2))):
        (edge,) = (await around(store, "Ada", as_of)).relationships
        assert edge.evidence == tuple(ids(*numbers))
        path = await store.graph.path(OWNER, ada, bob, as_of)
        assert path is not None
        assert path.steps[0].evidence == tuple(ids(*numbers))


async def test_what_was_not_yet_stored_joins_nothing_then(store: FullStore) -> None:
    await fill(store, memory(1), memory(2))
    await read_as(
        store,
        {
            1: replace(stated(("Ada", "x", "Tea")), facts=()),
            2: replace(stated(("Ada", "x", "Bob")), facts=()),
        },
    )
    ada, bob = await concept(store, "Ada"), await concept(store, "Bob")
    assert ada is not None
    assert bob is not None
    assert await store.graph.path(OWNER, ada, bob) is not None
    assert await store.graph.path(OWNER, ada, bob, at(1)) is None
    assert (await around(store, "Ada", at(1))).together == (("Tea", 1),)
    assert len((await around(store, "Ada")).together) == 2
