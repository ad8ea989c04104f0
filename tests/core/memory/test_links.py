"""Links as values: what may be stored, how two sides' links merge, and how links change hits."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.conformance.samples import memory
from tests.recall_contexts import recall_context

from recollect.core.errors import InvalidInput
from recollect.core.memory.links import (
    MAX_LINKS,
    Link,
    Pointer,
    as_values,
    check_kinds,
    check_links,
    last,
    merge_links,
)
from recollect.core.memory.memory import Memory, Scope
from recollect.core.recall.request import Hit, RecallRequest
from recollect.core.recall.successors import Resolution, resolve_successors
from recollect.core.sync.merge import merge
from recollect.core.sync.model import State

ME = UUID(int=99)
EVERYWHERE = recall_context(RecallRequest("anything"))


def link(kind: str, number: int) -> Link:
    return Link(kind, UUID(int=number))


def see(*numbers: int) -> list[dict[str, str]]:
    return as_values(link("see_also", number) for number in numbers)


def hit(one: Memory, score: float = 1.0) -> Hit:
    return Hit(one, score, score, 1.0, {})


def test_links_are_a_set_in_one_order() -> None:
    given = [link("see_also", 2), link("part_of", 3), link("see_also", 1), link("see_also", 2)]
    tidy = (link("part_of", 3), link("see_also", 1), link("see_also", 2))
    assert check_links(given, ME) == check_links(reversed(given), ME) == tidy


@pytest.mark.parametrize(
    ("links", "reason"),
    [
        ([Link("see_also", ME)], "linked to itself"),
        ([link("not a word", 1)], "unknown kind of link"),
        ([link("x" * 41, 1)], "unknown kind of link"),
        ([link("see_also", n) for n in range(MAX_LINKS + 1)], f"limit is {MAX_LINKS}"),
    ],
)
def test_what_no_memory_may_hold(links: list[Link], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason) as refused:
        check_links(links, ME)
    assert refused.value.field == "links"


def test_a_kind_of_a_newer_version_is_carried_but_cannot_be_written() -> None:
    newer = [link("contradicts", 1)]
    assert check_links(newer, ME) == tuple(newer)
    with pytest.raises(InvalidInput, match="contradicts") as refused:
        check_kinds(newer)
    assert "supersedes, resolved_by, part_of, see_also" in refused.value.remedy


@pytest.mark.parametrize(
    ("before", "local", "remote", "both"),
    [
        ((), (1,), (2,), (1, 2)),
        ((1,), (), (1, 2), (2,)),
        ((1, 2), (1,), (2,), ()),
        ((1,), (1,), (), ()),
        ((1,), (1, 3), (1,), (1, 3)),
    ],
)
def test_both_sides_additions_and_removals_stand(
    before: tuple[int, ...],
    local: tuple[int, ...],
    remote: tuple[int, ...],
    both: tuple[int, ...],
) -> None:
    assert merge_links(see(*before), see(*local), see(*remote)) == see(*both)
    assert merge_links(see(*before), see(*remote), see(*local)) == see(*both)


def test_merging_keeps_both_sides_links_and_loses_nothing() -> None:
    base = State(memory(1, links=(link("see_also", 5),))).fields
    local = {**base, "links": see(5, 6), "content": "mine"}
    remote = {**base, "links": see(7)}
    result = merge(base, local, remote)
    assert result.fields["links"] == see(6, 7)
    assert result.fields["content"] == "mine"
    assert result.lost == {}
    assert merge(None, local, remote).fields["links"] == see(5, 6, 7)


def test_more_links_than_a_memory_may_hold_are_a_conflict() -> None:
    base = State(memory(1)).fields
    local = {**base, "links": see(*range(10, 10 + MAX_LINKS))}
    remote = {**base, "links": see(5)}
    result = merge(base, local, remote)
    assert result.fields["links"] == see(5)
    assert result.lost == {"links": local["links"]}


@pytest.mark.parametrize(
    ("steps", "start", "end"),
    [
        ({}, 1, 1),
        ({1: 2}, 1, 2),
        ({1: 2, 2: 3, 3: 4}, 1, 4),
        ({1: 1}, 1, 1),
        ({1: 2, 2: 1}, 1, 1),
        ({1: 2, 2: 1}, 2, 2),
        ({1: 2, 2: 3, 3: 1}, 2, 2),
        ({1: 2, 2: 3, 3: 2}, 1, 1),  # it leads into a cycle, which has no last memory
        ({n: n + 1 for n in range(1, 5_000)}, 1, 5_000),
    ],
)
def test_the_last_of_a_chain(steps: dict[int, int], start: int, end: int) -> None:
    successors = {UUID(int=one): UUID(int=other) for one, other in steps.items()}
    assert last(UUID(int=start), successors) == UUID(int=end)


OLD, NEW, OTHER = memory(1), memory(2), memory(3)
TO_NEW = Resolution({OLD.id: NEW.id}, {NEW.id: NEW})


def test_a_successor_takes_the_best_place_once() -> None:
    hits = [hit(OLD, 3.0), hit(OTHER, 2.0), hit(NEW, 1.0)]
    first, second = resolve_successors(EVERYWHERE, hits, TO_NEW)
    assert (first.memory, first.score, first.stands_for, first.ranked_as) == (
        NEW,
        3.0,
        (OLD.id,),
        OLD.id,
    )
    assert second.memory == OTHER


def test_a_successor_with_the_better_place_keeps_its_own_score() -> None:
    (only,) = resolve_successors(EVERYWHERE, [hit(NEW, 3.0), hit(OLD, 2.0)], TO_NEW)
    assert (only.memory, only.score, only.stands_for, only.ranked_as) == (NEW, 3.0, (OLD.id,), None)


def test_last_successor_stands_for_the_whole_chain() -> None:
    followed = Resolution({OLD.id: OTHER.id, NEW.id: OTHER.id}, {OTHER.id: OTHER})
    (only,) = resolve_successors(EVERYWHERE, [hit(NEW), hit(OLD)], followed)
    assert only.stands_for == (NEW.id, OLD.id)
    assert only.ranked_as == NEW.id


def test_a_successor_in_the_prompt_already_is_not_repeated_by_its_old_text() -> None:
    asked = recall_context(RecallRequest("anything", exclude=frozenset({NEW.id})))
    (only,) = resolve_successors(asked, [hit(OLD), hit(OTHER)], TO_NEW)
    assert only.memory == OTHER


def test_a_successor_outside_the_scope_is_named_and_not_shown() -> None:
    new = memory(2, project="secret")
    asked = recall_context(RecallRequest("anything", scope=Scope(until=new.created_at)))
    (only,) = resolve_successors(asked, [hit(OLD)], Resolution({OLD.id: new.id}, {new.id: new}))
    assert only.memory == OLD
    assert only.pointers == (Pointer("superseded_by", new.id),)


def test_what_resolves_a_hit_is_attached_in_its_latest_state() -> None:
    trouble = memory(9, links=(link("resolved_by", 1), link("see_also", 3), link("part_of", 77)))
    followed = Resolution({OLD.id: NEW.id}, {OLD.id: OLD, NEW.id: NEW, OTHER.id: OTHER})
    (only,) = resolve_successors(EVERYWHERE, [hit(trouble)], followed)
    assert only.attached == (NEW,)
    assert only.pointers == (
        Pointer("part_of", UUID(int=77), is_dangling=True),
        Pointer("see_also", OTHER.id),
    )


@pytest.mark.parametrize(
    "request_",
    [
        RecallRequest("anything", exclude=frozenset({OTHER.id})),
        RecallRequest("anything", scope=Scope(until=OTHER.created_at)),
    ],
)
def test_what_a_hit_may_not_be_is_not_attached_either(request_: RecallRequest) -> None:
    trouble = memory(0, links=(link("resolved_by", 3),))
    followed = Resolution({}, {OTHER.id: OTHER})
    (only,) = resolve_successors(recall_context(request_), [hit(trouble)], followed)
    assert only.attached == ()
    assert only.pointers == (Pointer("resolved_by", OTHER.id),)


def test_memories_that_resolve_each_other_are_attached_and_not_endless() -> None:
    one = memory(4, links=(link("resolved_by", 5),))
    two = memory(5, links=(link("resolved_by", 4),))
    followed = Resolution({}, {one.id: one, two.id: two})
    first, second = resolve_successors(EVERYWHERE, [hit(one), hit(two)], followed)
    assert (first.attached, second.attached) == ((two,), (one,))
