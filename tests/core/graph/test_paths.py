"""The search for a shortest path, without a store."""

from __future__ import annotations

from uuid import UUID

from recollect.core.graph.paths import FoundPath, Link, PathSearch

A, B, C, D = (UUID(int=number) for number in range(4))


def link(here: UUID, there: UUID, relation: str = "uses") -> Link:
    return Link(here, there, relation, is_back=False, edge=None)


def test_a_beginning_that_is_a_goal_needs_no_links() -> None:
    search = PathSearch({A, B}, {B, C}, 6)
    assert search.found == FoundPath(B)
    assert not search.frontier


def test_the_path_leads_from_the_beginning_to_the_goal() -> None:
    search = PathSearch({A}, {C}, 6)
    search.advance([link(A, B)])
    assert search.frontier == {B}
    search.advance([link(B, C), link(B, A)])
    assert search.found == FoundPath(A, (link(A, B), link(B, C)))
    assert search.found.last == C
    assert not search.frontier


def test_the_first_link_to_a_concept_is_kept() -> None:
    search = PathSearch({A}, {B}, 6)
    search.advance([link(A, B, "owns"), link(A, B, "near")])
    assert search.found == FoundPath(A, (link(A, B, "owns"),))


def test_the_search_ends_after_the_last_step() -> None:
    search = PathSearch({A}, {D}, 2)
    search.advance([link(A, B)])
    search.advance([link(B, C)])
    assert search.found is None
    assert not search.frontier


def test_the_search_ends_when_nothing_new_is_reached() -> None:
    search = PathSearch({A}, {D}, 6)
    search.advance([link(A, B)])
    search.advance([link(B, A), link(A, B)])
    assert search.found is None
    assert not search.frontier
