"""Merging: tables for the usual cases, properties for all others."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import MOMENT

from recollect.core.memory.fields import iso
from recollect.core.memory.memory import Memory
from recollect.core.sync.merge import Known, Lost, Outcome, merge, reconcile
from recollect.core.sync.model import SYNCED, Fields, Remote, State, delta

ID = UUID(int=7)
EDIT = UUID(int=8)
GONE = iso(MOMENT)


def state(content: str = "a", version: int = 1, **others: Any) -> State:
    extra = {name: others.pop(name) for name in list(others) if name not in Memory.__slots__}
    return State(
        Memory(
            id=ID,
            owner="me",
            content=content,
            created_at=MOMENT,
            updated_at=MOMENT,
            version=version,
            **others,
        ),
        extra,
    )


def fields(**changed: object) -> Fields:
    return {**state().fields, **changed}


@pytest.mark.parametrize(
    ("local", "remote", "merged", "lost"),
    [
        ({}, {}, {}, {}),
        ({"content": "l"}, {}, {"content": "l"}, {}),
        ({}, {"content": "r"}, {"content": "r"}, {}),
        ({"content": "l"}, {"content": "r"}, {"content": "r"}, {"content": "l"}),
        ({"content": "x"}, {"content": "x"}, {"content": "x"}, {}),
        ({"content": "l"}, {"tags": ["r"]}, {"content": "l", "tags": ["r"]}, {}),
        ({"is_sensitive": True}, {"content": "r"}, {"is_sensitive": True, "content": "r"}, {}),
        ({}, {"is_sensitive": True}, {"is_sensitive": True}, {}),
        ({"deleted_at": GONE}, {}, {"deleted_at": GONE}, {}),
        ({"deleted_at": GONE}, {"content": "r"}, {"content": "r"}, {"deleted_at": GONE}),
        (
            {"content": "l"},
            {"deleted_at": GONE},
            {"deleted_at": GONE},
            {"content": "l", "deleted_at": None},
        ),
        (
            {"deleted_at": GONE, "content": "l"},
            {"deleted_at": iso(MOMENT + timedelta(1))},
            {"deleted_at": iso(MOMENT + timedelta(1)), "content": "l"},
            {},
        ),
        ({"mood": "l"}, {"content": "r"}, {"mood": "l", "content": "r"}, {}),
        ({"mood": "l"}, {"mood": "r"}, {"mood": "r"}, {"mood": "l"}),
    ],
)
def test_two_changes_are_merged(
    local: Fields, remote: Fields, merged: Fields, lost: Fields
) -> None:
    found = merge(fields(), fields(**local), fields(**remote))
    assert found.fields == fields(**merged)
    assert found.lost == lost


def test_without_a_base_every_difference_is_a_conflict() -> None:
    found = merge(None, fields(content="l", mood="sunny"), fields(content="r", weather="fine"))
    assert found.fields == fields(content="r", mood="sunny", weather="fine")
    assert found.lost == {"content": "l"}


values = {
    "content": st.sampled_from("abc"),
    "tags": st.sampled_from([["a"], ["b"], []]),
    "importance": st.sampled_from([0.1, 0.5, 0.9]),
    "is_sensitive": st.booleans(),
    "project": st.sampled_from([None, "p", "q"]),
    "deleted_at": st.sampled_from([None, GONE]),
    "mood": st.sampled_from(["fine", "grim"]),
}
any_fields = st.fixed_dictionaries(values).map(lambda chosen: fields(**chosen))


@given(any_fields, any_fields)
def test_one_side_alone_gets_its_way(base: Fields, changed: Fields) -> None:
    for found in (merge(base, base, changed), merge(base, changed, base)):
        assert (found.fields, found.lost) == (changed, {})


@given(any_fields, any_fields, any_fields)
def test_no_value_of_either_side_is_lost(base: Fields, local: Fields, remote: Fields) -> None:
    found = merge(base, local, remote)
    for name in local:
        if local[name] != base[name]:
            both_forgot = name == "deleted_at" and local[name] and remote[name]
            assert local[name] in (found.fields[name], found.lost.get(name)) or both_forgot
        if remote[name] != base[name]:
            assert found.fields[name] == remote[name]


@given(any_fields, any_fields)
def test_without_a_base_nothing_is_lost_either(local: Fields, remote: Fields) -> None:
    found = merge(None, local, remote)
    for name in SYNCED:
        if name != "is_sensitive":
            assert found.fields[name] == remote[name]
            assert local[name] in (remote[name], found.lost.get(name))


@given(any_fields, any_fields, any_fields)
def test_merging_again_changes_nothing(base: Fields, local: Fields, remote: Fields) -> None:
    once = merge(base, local, remote)
    again = merge(remote, once.fields, remote)
    assert (again.fields, again.lost) == (once.fields, {})


@given(any_fields, any_fields)
def test_a_delta_is_what_makes_one_state_of_the_other(before: Fields, after: Fields) -> None:
    start, end = state().changed(before), state().changed(after)
    changed = delta(end, start)
    assert start.changed(changed).fields == end.fields
    assert all(start.fields[name] != value for name, value in changed.items())


def remote(theirs: State | None, change: int = 5, **others: Any) -> Remote:
    version = 0 if theirs is None else theirs.memory.version
    return Remote(ID, change, version, theirs, **others)


BASE, MINE, THEIRS = state("base"), state("mine", 2), state("theirs", 2)
GONE_THERE = remote(None, is_erased=True)
CASES: list[tuple[str, Known, Remote, Outcome | None]] = [
    ("new", Known(), remote(THEIRS), Outcome(THEIRS)),
    ("not news", Known(BASE, change=5), remote(THEIRS), None),
    ("changed there", Known(BASE, change=4), remote(THEIRS), Outcome(THEIRS)),
    ("erased there", Known(BASE, change=4), GONE_THERE, Outcome(None)),
    (
        "erased there, changed here",
        Known(MINE, waits=True, base=BASE, change=4),
        GONE_THERE,
        Outcome(None, lost=Lost("orphan", MINE.fields)),
    ),
    (
        "erased here, changed there",
        Known(None, waits=True, is_erased=True, change=4),
        remote(THEIRS),
        Outcome(THEIRS, lost=Lost("erase", {})),
    ),
    (
        "erased here before its own writing was confirmed",
        Known(None, waits=True, is_erased=True, edit=EDIT),
        remote(THEIRS, edit=EDIT, edit_version=2),
        Outcome(None, waits=True, is_erased=True),
    ),
    (
        "erased here, and its own writing was changed there",
        Known(None, waits=True, is_erased=True, edit=EDIT),
        remote(THEIRS, edit=EDIT, edit_version=1),
        Outcome(THEIRS, lost=Lost("erase", {})),
    ),
    (
        "both changed the same",
        Known(MINE, waits=True, base=BASE, change=4),
        remote(THEIRS),
        Outcome(THEIRS, lost=Lost("edit", {"content": "mine"})),
    ),
    (
        "what was sent has arrived",
        Known(MINE, waits=True, base=BASE, sent=MINE, edit=EDIT, change=4),
        remote(MINE, edit=EDIT, edit_version=2),
        Outcome(MINE),
    ),
    (
        "what was sent has arrived, and was changed here since",
        Known(state("since", 3), waits=True, base=BASE, sent=MINE, edit=EDIT, change=4),
        remote(MINE, edit=EDIT, edit_version=2),
        Outcome(state("since", 4), waits=True, base=MINE),
    ),
    (
        "a version once current here does not come back with another meaning",
        Known(state("mine", 6), waits=True, base=BASE, change=4),
        remote(THEIRS),
        Outcome(
            state("theirs", 7), waits=True, base=THEIRS, lost=Lost("edit", {"content": "mine"})
        ),
    ),
    (
        "it became sensitive there",
        Known(BASE, change=4),
        Remote(ID, 5, 3),
        Outcome(state("base", 3, is_sensitive=True), is_withheld=True),
    ),
    (
        "it became sensitive there, and has a text of its own here",
        Known(state("mine", 2, is_sensitive=True), waits=True, base=BASE, change=4),
        Remote(ID, 5, 3),
        Outcome(state("mine", 3, is_sensitive=True), waits=True, base=BASE, is_withheld=True),
    ),
    (
        "it became sensitive on both sides",
        Known(state("base", 2, is_sensitive=True), waits=True, base=BASE, change=4),
        Remote(ID, 5, 3),
        Outcome(state("base", 3, is_sensitive=True), base=BASE, is_withheld=True),
    ),
    (
        "what was withheld is shown",
        Known(state("mine", 3, is_sensitive=True), change=4, is_withheld=True),
        remote(state("theirs", 4)),
        Outcome(
            state("theirs", 5, is_sensitive=True),
            waits=True,
            base=state("theirs", 4),
            lost=Lost("edit", {"content": "mine"}),
        ),
    ),
]


@pytest.mark.parametrize(
    ("known", "theirs", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_what_a_store_does_about_what_the_server_says(
    known: Known, theirs: Remote, expected: Outcome | None
) -> None:
    assert reconcile(known, theirs) == expected


def test_clocks_decide_nothing() -> None:
    years_ahead = replace(MINE, memory=replace(MINE.memory, updated_at=MOMENT + timedelta(9999)))
    for mine in (MINE, years_ahead):
        outcome = reconcile(Known(mine, waits=True, base=BASE), remote(THEIRS))
        assert outcome == Outcome(THEIRS, lost=Lost("edit", {"content": "mine"}))
