"""The rules for every memory and every scope, however it is entered."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import MOMENT, any_text

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import (
    CATEGORIES,
    EVERYWHERE,
    Limits,
    Memory,
    Scope,
    check_memory,
    clean_scope,
)

LIMITS = Limits(content=20, words=3, word=5, label=6)


def memory(**fields: object) -> Memory:
    plain = Memory(
        id=UUID(int=1),
        owner="me",
        content="staging is frozen",
        created_at=MOMENT,
        updated_at=MOMENT,
    )
    return replace(plain, **fields)  # type: ignore[arg-type]  # tables name the fields


def test_texts_are_trimmed_and_repeats_dropped() -> None:
    stored = check_memory(
        memory(
            content="  staging is frozen\n",
            tags=(" db ", "db", "", "ops"),
            expanded_keywords=("halt", " halt"),
            project=" web ",
            session="  ",
        ),
        LIMITS,
    )
    assert stored == memory(
        tags=("db", "ops"), expanded_keywords=("halt",), project="web", session=None
    )


REFUSED: list[tuple[dict[str, object], str, str]] = [
    ({"content": ""}, "content", "self-contained statement"),
    ({"content": " \n\t"}, "content", "self-contained statement"),
    ({"content": "x" * 21}, "content", "RECOLLECT_MAX_CONTENT"),
    ({"content": "a\x00b"}, "content", "valid UTF-8"),
    ({"category": "gossip"}, "category", "fact, preference"),
    ({"category": ""}, "category", "fact, preference"),
    ({"importance": -0.01}, "importance", "from 0"),
    ({"importance": 1.01}, "importance", "from 0"),
    ({"importance": float("nan")}, "importance", "from 0"),
    ({"importance": float("inf")}, "importance", "from 0"),
    ({"category": "episode"}, "session", "Name the session"),
    ({"category": "episode", "session": "  "}, "session", "Name the session"),
    ({"tags": ("a", "b", "c", "d")}, "tags", "Keep those"),
    ({"tags": ("abcdef",)}, "tags", "Shorten"),
    ({"expanded_keywords": ("abcdef",)}, "expanded_keywords", "Shorten"),
    ({"tags": ("a\x00",)}, "tags", "valid UTF-8"),
    ({"project": "abcdefg"}, "project", "Shorten"),
    ({"session": "a\x00"}, "session", "valid UTF-8"),
]


@pytest.mark.parametrize(
    ("broken", "kept"),
    [("a\ud800b", "a\ufffdb"), ("a\udfff", "a\ufffd"), ("\ud83e\udd80 b", "\N{CRAB} b")],
)
def test_halves_of_surrogate_pairs_are_joined_or_replaced(broken: str, kept: str) -> None:
    stored = check_memory(memory(content=broken, project=broken, tags=(broken,)), Limits())
    assert (stored.content, stored.project, stored.tags) == (kept, kept, (kept,))
    assert clean_scope(Scope(project=broken, tags=(broken,))).covers(stored)


@pytest.mark.parametrize(("fields", "culprit", "remedy"), REFUSED)
def test_bad_input_is_refused_with_culprit_and_remedy(
    fields: dict[str, object], culprit: str, remedy: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_memory(memory(**fields), LIMITS)
    assert refused.value.field == culprit
    assert remedy in refused.value.remedy


@pytest.mark.parametrize(
    "fields",
    [
        {"content": "x" * 20},
        {"content": " " * 50 + "short" + " " * 50},
        {"importance": 0.0},
        {"importance": 1.0},
        {"tags": ("a", "b", "abcde")},
        {"tags": ("a", "a", "a", "a")},
        {"project": "abcdef"},
        {"category": "episode", "session": "s"},
    ],
)
def test_what_just_fits_is_accepted(fields: dict[str, object]) -> None:
    check_memory(memory(**fields), LIMITS)


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_category_can_be_stored(category: str) -> None:
    assert check_memory(memory(category=category, session="s"), LIMITS).category == category


@given(
    content=any_text,
    tags=st.lists(any_text).map(tuple),
    project=st.none() | any_text,
    session=st.none() | any_text,
)
def test_checking_a_memory_twice_changes_nothing(
    content: str, tags: tuple[str, ...], project: str | None, session: str | None
) -> None:
    try:
        stored = check_memory(
            memory(content=content, tags=tags, project=project, session=session), Limits()
        )
    except InvalidInput:
        return
    assert check_memory(stored, Limits()) == stored
    stored.content.encode()  # every store can hold it
    assert stored.content


HOUR = timedelta(hours=1)
COVERED: list[tuple[Scope, bool]] = [
    (EVERYWHERE, True),
    (Scope(project="web"), True),
    (Scope(project="app"), False),
    (Scope(sessions=("s1", "s2")), True),
    (Scope(sessions=("s2",)), False),
    (Scope(categories=("note", "fact")), True),
    (Scope(categories=("note",)), False),
    (Scope(tags=("db",)), True),
    (Scope(tags=("db", "ops")), True),
    (Scope(tags=("db", "web")), False),
    (Scope(since=MOMENT), True),
    (Scope(since=MOMENT + HOUR), False),
    (Scope(until=MOMENT), False),
    (Scope(until=MOMENT + HOUR), True),
    (Scope(project="web", tags=("db",), since=MOMENT, until=MOMENT + HOUR), True),
    (Scope(project="web", tags=("db",), since=MOMENT - HOUR, until=MOMENT), False),
]


@pytest.mark.parametrize(("scope", "covered"), COVERED)
def test_what_a_scope_covers(scope: Scope, covered: bool) -> None:
    stored = memory(project="web", session="s1", tags=("db", "ops"))
    assert scope.covers(stored) is covered
    assert not scope.covers(replace(stored, deleted_at=MOMENT))


def test_a_memory_without_a_place_is_in_no_named_place() -> None:
    assert not Scope(project="web").covers(memory())
    assert not Scope(sessions=("s",)).covers(memory())


@given(any_text)
def test_what_was_stored_under_a_name_is_found_under_it(name: str) -> None:
    try:
        stored = check_memory(memory(project=name, session=name, tags=(name,)), Limits())
    except InvalidInput:
        return
    if stored.project is None:  # a blank name is no name
        return
    assert clean_scope(Scope(project=name, sessions=(name,), tags=(name,))).covers(stored)


EARLIEST = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))
BAD_SCOPES: list[tuple[Scope, str]] = [
    (Scope(categories=("gossip",)), "category"),
    (Scope(project=" "), "project"),
    (Scope(project="a\x00"), "project"),
    (Scope(sessions=("s", "")), "sessions"),
    (Scope(tags=("\x00",)), "tags"),
    (Scope(since=datetime(2026, 1, 1)), "since"),  # noqa: DTZ001 (what is refused)
    (Scope(until=datetime(2026, 1, 1)), "until"),  # noqa: DTZ001 (what is refused)
    (Scope(since=EARLIEST), "since"),
]


@pytest.mark.parametrize(("scope", "culprit"), BAD_SCOPES)
def test_a_scope_no_store_could_answer_is_refused(scope: Scope, culprit: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        clean_scope(scope)
    assert refused.value.field == culprit


def test_moments_of_a_scope_become_utc() -> None:
    east = datetime(2026, 11, 15, 10, 30, tzinfo=timezone(timedelta(hours=1)))
    moment = clean_scope(Scope(since=east)).since
    assert moment == MOMENT
    assert moment is not None
    assert moment.tzinfo is UTC
