"""Hits with the same text are shown once."""

from __future__ import annotations

from uuid import UUID

from tests.conformance.samples import memory

from recollect.core.recall.decisions import join_same_texts
from recollect.core.recall.request import Hit


def hit(number: int, content: str, **fields: object) -> Hit:
    return Hit(memory(number, content, **fields), 1.0 / number, 1.0, 1.0, {})


def ids(hits: list[Hit]) -> list[int]:
    return [each.memory.id.int for each in hits]


def test_a_text_is_shown_once_at_its_best_place() -> None:
    first, other, *same = (
        hit(1, "Ask Ada."),
        hit(2, "Ask Ben."),
        hit(3, "ask  ada."),
        hit(4, "Ask Ada."),
    )
    joined = join_same_texts([first, other, *same])
    assert [each.memory for each in joined] == [first.memory, other.memory]
    assert joined[0].duplicates == tuple(each.memory.id for each in same)
    assert joined[1].duplicates == ()


def test_a_sensitive_memory_does_not_stand_for_another() -> None:
    hits = [hit(1, "Ask Ada.", is_sensitive=True), hit(2, "Ask Ada.")]
    assert join_same_texts(hits) == hits


def test_joining_twice_changes_nothing() -> None:
    once = join_same_texts([hit(number, "Ask Ada.") for number in (1, 2, 3)])
    assert join_same_texts(once) == once
    (again,) = join_same_texts([*once, *once])
    assert UUID(int=again.memory.id.int) not in again.duplicates
    assert again.duplicates == once[0].duplicates
