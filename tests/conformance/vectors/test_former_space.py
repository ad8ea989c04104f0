"""The former space: at most one, and what a switch retains and removes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.conformance.stores import SPACE, Place, open_all, opened, states

pytestmark = pytest.mark.anyio

A, B, C = (replace(SPACE, revision=letter) for letter in "abc")


async def test_a_switch_makes_the_active_space_the_former_one_and_gives_up_that_before(
    place: Place,
) -> None:
    async with opened(place) as (_, vectors):
        a, b = await open_all(vectors, A, B)
        await vectors.activate(b)
        assert await states(vectors) == {"a": "former", "b": "active"}
        await vectors.activate(b)
        assert await states(vectors) == {"a": "former", "b": "active"}, "nothing to do"
        (c,) = await open_all(vectors, C)
        await vectors.activate(c)
        assert await states(vectors) == {"a": "retired", "b": "former", "c": "active"}
        assert [space.is_given_up for space in await vectors.spaces()] == [True, False, False]
        (a,) = await open_all(vectors, A)
        assert not a.is_former
        await vectors.activate(a)
        assert await states(vectors) == {"a": "active", "b": "retired", "c": "former"}


async def test_the_former_space_stays_that_while_it_is_filled_again(
    place: Place,
) -> None:
    async with opened(place) as (_, vectors):
        _, b = await open_all(vectors, A, B)
        await vectors.activate(b)
        (back,) = await open_all(vectors, A)
        assert (back.state, back.is_former) == ("filling", True)
        await vectors.retire(back)
        assert await states(vectors) == {"a": "former", "b": "active"}
        (c,) = await open_all(vectors, C)
        await vectors.retire(c)  # a rollback does not lead there
        await vectors.retire(b)
        assert [space.state for space in await vectors.spaces()] == ["retired", "active", "filling"]
        (back,) = await open_all(vectors, A)
        await vectors.activate(back)
        assert await states(vectors) == {"a": "active", "b": "former", "c": "filling"}


async def test_a_space_keeps_the_languages_of_its_model(place: Place) -> None:
    async with opened(place) as (_, vectors):
        await vectors.open_space("a", replace(A, languages=frozenset({"en"})))
        (stored,) = await vectors.spaces()
        assert stored.space.languages == {"en"}
        await vectors.open_space("a", replace(A, languages=frozenset({"en", "de"})))
        (stored,) = await vectors.spaces()
        assert stored.space.languages == {"de", "en"}
