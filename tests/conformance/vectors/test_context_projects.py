"""Two projects may have a session of the same name: no vector holds turns of both."""

from __future__ import annotations

from dataclasses import replace
from typing import LiteralString

import pytest
from tests.conformance.samples import OWNER, ids
from tests.conformance.stores import NORTH, FullStore, Place, Vectors, embed_all, rows, waiting
from tests.conformance.vectors.test_context import LONG, claim_by_number, store_turns, turn
from tests.strategies import MOMENT

from recollect.core.recall.space import EmbeddingJob, StoredSpace

pytestmark = pytest.mark.anyio

_MOVE: LiteralString = "update memories set project = %s where id = %s"
_SHORT = "x" * 300


def get_texts(jobs: dict[int, EmbeddingJob]) -> dict[int, str]:
    return {number: job.text for number, job in jobs.items()}


async def test_only_turns_of_the_same_project_are_read_with_a_turn(
    place: Place,
) -> None:
    turns = [
        turn(1, "which port?", project="blue"),
        turn(2, "which host?", project="red"),
        turn(3, "which colour?"),
        turn(4, "7443", project="blue"),
        turn(5, LONG, project="red"),
        turn(6, "green"),
        turn(7, "thanks", project="blue"),
        turn(8, "ok"),
    ]

    async def then(store: FullStore, vectors: Vectors, space: StoredSpace) -> None:
        assert get_texts(await claim_by_number(vectors, space)) == {
            1: "which port?",
            2: "which host?",
            3: "which colour?",
            4: "7443\nwhich port?",
            5: LONG,
            6: "green\nwhich colour?",
            7: "thanks\nwhich port?\n7443",
            8: "ok\nwhich colour?\ngreen",
        }

    await store_turns(place, turns, then)


# Which turn moves, and to which project; which turns then wait for a new vector, and their texts.
MOVES: dict[str, tuple[int, str | None, dict[int, str]]] = {
    "the first of all": (1, "red", {1: "a", 3: "c", 5: "e\nc", 2: "b\na", 4: "d\na\nb"}),
    "one between others": (3, "red", {3: "c\nb", 5: "e\na", 4: "d\nb\nc", 6: "f\nc\nd"}),
    "the last": (6, "blue", {6: "f\nc\ne"}),
    "to no project": (2, None, {2: "b", 4: "d", 6: "f\nd"}),
    "a long one": (7, "red", {}),
}


@pytest.mark.parametrize("move", MOVES)
async def test_a_moved_turn_is_embedded_again_with_its_neighbours_in_both_projects(
    place: Place, move: str
) -> None:
    number, project, anew = MOVES[move]
    turns = [
        turn(1, "a", project="blue"),
        turn(2, "b", project="red"),
        turn(3, "c", project="blue"),
        turn(4, "d", project="red"),
        turn(5, "e", project="blue"),
        turn(6, "f", project="red"),
        turn(7, LONG, project="blue"),
        turn(8, LONG, project="red"),
    ]

    async def then(store: FullStore, vectors: Vectors, space: StoredSpace) -> None:
        assert await embed_all(vectors, space) == 8
        one = await store.get(OWNER, ids(number)[0])
        assert one is not None
        moved = replace(one, project=project, version=one.version + 1)
        assert await store.replace(moved, based_on=one.version)
        assert await waiting(store) == anew.keys()
        jobs = await claim_by_number(vectors, space)
        assert get_texts(jobs) == anew
        assert await vectors.finish(space, [(job, NORTH) for job in jobs.values()]) == len(anew)

    await store_turns(place, turns, then)


async def test_a_turn_as_long_as_a_short_one_may_be_counts_where_it_moves(
    place: Place,
) -> None:
    """The database decides on its own which turns are short: it must agree with `context_of`."""
    turns = [
        turn(1, "before", project="red"),
        turn(2, _SHORT, project="blue"),
        turn(3, _SHORT, project="red"),
        turn(4, "after", project="red"),
        turn(5, "far after", project="red"),
    ]

    async def then(store: FullStore, vectors: Vectors, space: StoredSpace) -> None:
        assert await embed_all(vectors, space) == 5
        await rows(store, _MOVE, "red", ids(2)[0])
        assert get_texts(await claim_by_number(vectors, space)) == {
            2: f"{_SHORT}\nbefore",
            3: f"{_SHORT}\nbefore\n{_SHORT}",
            4: f"after\n{_SHORT}\n{_SHORT}",
        }

    await store_turns(place, turns, then)


async def test_a_turn_that_moves_to_another_session_is_read_with_those_it_comes_to(
    place: Place,
) -> None:
    turns = [turn(1, "a", session="other"), turn(2, "b"), turn(3, "c", session="other")]

    async def then(store: FullStore, vectors: Vectors, space: StoredSpace) -> None:
        assert await embed_all(vectors, space) == 3
        await rows(store, "update memories set session = 'other' where id = %s", ids(2)[0])
        assert get_texts(await claim_by_number(vectors, space)) == {2: "b\na", 3: "c\na\nb"}

    await store_turns(place, turns, then)


async def test_finish_drops_a_vector_of_a_turn_that_moved_meanwhile(
    place: Place,
) -> None:
    """Even where a turn was alone, so that nothing but its place has changed."""
    turns = [turn(1, "a", project="red"), turn(2, "b"), turn(3, "c", project="blue")]

    async def then(store: FullStore, vectors: Vectors, space: StoredSpace) -> None:
        jobs = await claim_by_number(vectors, space)
        assert get_texts(jobs) == {1: "a", 2: "b", 3: "c"}
        await rows(store, _MOVE, "red", ids(2)[0])
        await rows(store, _MOVE, "red", ids(3)[0])
        assert await vectors.finish(space, [(job, NORTH) for job in jobs.values()]) == 1
        again = await claim_by_number(vectors, space)
        assert get_texts(again) == {2: "b\na", 3: "c\na\nb"}
        assert await vectors.finish(space, [(job, NORTH) for job in again.values()]) == 2

    await store_turns(place, turns, then)


async def test_a_hidden_or_forgotten_turn_that_moves_leaves_the_others_alone(
    place: Place,
) -> None:
    turns = [
        turn(1, "hidden", is_sensitive=True),
        turn(2, "forgotten", deleted_at=MOMENT),
        turn(3, "c", project="red"),
        turn(4, "a fact", category="fact"),
    ]

    async def then(store: FullStore, vectors: Vectors, space: StoredSpace) -> None:
        assert await embed_all(vectors, space) == 2
        for number in (1, 2, 4):
            await rows(store, _MOVE, "red", ids(number)[0])
        assert await waiting(store) == set()

    await store_turns(place, turns, then)
