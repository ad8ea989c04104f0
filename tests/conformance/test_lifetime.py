"""Memories with a lifetime, on every store: outside it they are listed and not recalled."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from tests.conformance.conftest import Store
from tests.conformance.samples import OWNER, fill, ids, listed, memory, search
from tests.conformance.test_links import links
from tests.strategies import MOMENT
from tests.usecases.conftest import TickingClock

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import Draft, Memory, Scope
from recollect.core.recall.request import RecallRequest
from recollect.usecases.context import Context
from recollect.usecases.memory.change import history, restore, update
from recollect.usecases.memory.remember import remember
from recollect.usecases.recall.lexical import lexical_leg
from recollect.usecases.recall.recall import recall
from recollect.usecases.recall.why import why

pytestmark = pytest.mark.anyio

YESTERDAY = MOMENT - timedelta(days=1)
TOMORROW = MOMENT + timedelta(days=1)


@pytest.fixture(autouse=True)
async def _patient(store: Store) -> None:
    await store.write_settings({"deadline_ms": 60_000}, by=OWNER, at=MOMENT)


class _At:
    """A clock that does not move."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment

    def now(self) -> datetime:
        return self._moment


def context(store: Store, now: datetime = MOMENT, actor: str | None = None) -> Context:
    return Context(store, store, _At(now), {"lexical": lexical_leg(store)}, actor=actor)


async def recall_ids(store: Store, now: datetime = MOMENT, **asked: Any) -> list[UUID]:
    found = await recall(context(store, now), OWNER, RecallRequest("harbour", **asked))
    return sorted(hit.memory.id for hit in found.hits)


async def test_memories_outside_their_validity_are_listed_and_not_recalled(store: Store) -> None:
    await fill(
        store,
        memory(1, "the harbour is shallow"),
        memory(2, "the harbour is closed", valid_until=YESTERDAY),
        memory(3, "the harbour opens", valid_from=TOMORROW),
        memory(4, "the harbour is busy", valid_from=YESTERDAY, valid_until=TOMORROW),
    )
    assert await recall_ids(store) == ids(1, 4)
    assert await recall_ids(store, TOMORROW) == ids(1, 3), (
        "the end is excluded, the beginning is not"
    )
    assert await listed(store) == ids(4, 3, 2, 1)


async def test_expired_memories_take_no_place_within_the_depth(store: Store) -> None:
    expired = [memory(n, "harbour", valid_until=YESTERDAY) for n in range(2, 40)]
    await fill(store, memory(1, "somewhere a harbour was mentioned in passing"), *expired)
    assert await search(store, "harbour", Scope(valid_at=MOMENT), depth=1) == ids(1)


async def test_a_lifetime_is_kept_exactly(store: Store) -> None:
    begin = datetime(2026, 3, 1, 9, 30, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
    await store.add(memory(1, valid_from=begin, valid_until=TOMORROW, changed_by="cli"))
    await store.add_all([memory(2, valid_from=begin, valid_until=TOMORROW, changed_by="import")])
    for id, by in zip(ids(1, 2), ("cli", "import"), strict=True):
        found = await store.get(OWNER, id)
        assert found is not None
        assert (found.valid_from, found.valid_until) == (begin, TOMORROW)
        assert found.changed_by == by


async def test_as_of_shows_what_was_valid_at_that_moment(store: Store) -> None:
    first = memory(1, "the harbour is closed", valid_until=MOMENT + timedelta(hours=1))
    await store.add(first)
    late = MOMENT + timedelta(days=9)
    assert await recall_ids(store, late) == []
    assert await recall_ids(store, late, as_of=MOMENT + timedelta(minutes=5)) == ids(1)
    assert await recall_ids(store, late, as_of=MOMENT + timedelta(hours=2)) == []
    # Validity at that time is decided by the version that was known then.
    moved = replace(first, version=2, updated_at=MOMENT + timedelta(days=2), valid_until=None)
    assert await store.replace(moved, based_on=1)
    assert await recall_ids(store, late) == ids(1)
    assert await recall_ids(store, late, as_of=MOMENT + timedelta(hours=2)) == []
    assert await recall_ids(store, late, as_of=MOMENT + timedelta(minutes=5)) == ids(1)


async def test_the_former_memory_is_recalled_again_when_its_successor_expires(store: Store) -> None:
    await fill(
        store,
        memory(1, "the harbour is open"),
        memory(2, "harbour works", valid_until=TOMORROW, links=links(supersedes=1)),
    )
    assert await recall_ids(store) == ids(2)
    assert await recall_ids(store, TOMORROW) == ids(1)


async def test_why_names_the_end_of_a_lifetime(store: Store) -> None:
    await fill(
        store,
        memory(1, "the harbour", valid_until=YESTERDAY),
        memory(2, "the harbour", valid_from=TOMORROW),
    )
    reasons = (
        f"it expired at {YESTERDAY.isoformat()}",
        f"it is not valid before {TOMORROW.isoformat()}",
    )
    for id, reason in zip(ids(1, 2), reasons, strict=True):
        report = await why(context(store), OWNER, str(id), RecallRequest("harbour"))
        assert not report.recalled
        assert report.kept_out[0].what == reason


async def test_each_version_keeps_its_lifetime_and_who_made_it(store: Store) -> None:
    clock = TickingClock()

    def by(actor: str) -> Context:
        return Context(store, store, clock, {"lexical": lexical_leg(store)}, actor=actor)

    stored = await remember(by("cli"), OWNER, Draft("the harbour", valid_until=TOMORROW))
    await update(by("mcp"), OWNER, str(stored.id), {"valid_until": None, "valid_from": YESTERDAY})
    await restore(by("api (laptop)"), OWNER, str(stored.id), 1)
    versions = await history(by("cli"), OWNER, str(stored.id))
    assert [version.changed_by for version in versions] == ["api (laptop)", "mcp", "cli"]
    lifetimes = [(version.valid_from, version.valid_until) for version in versions]
    assert lifetimes == [(None, TOMORROW), (YESTERDAY, None), (None, TOMORROW)]


async def test_storing_an_expired_text_again_makes_it_valid(store: Store) -> None:
    draft = Draft("the harbour is closed", valid_until=YESTERDAY)
    first = await remember(context(store), OWNER, draft)
    again = await remember(context(store), OWNER, Draft("the harbour is closed"))
    assert (again.id, again.valid_until) == (first.id, None)
    lasting = await remember(context(store), OWNER, replace(draft, valid_until=TOMORROW))
    assert lasting.valid_until == TOMORROW
    kept = await remember(context(store), OWNER, Draft("the harbour is closed"))
    assert kept.valid_until == TOMORROW, "it has not expired"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"valid_from": TOMORROW, "valid_until": YESTERDAY}, "valid_until"),
        ({"valid_from": TOMORROW, "valid_until": TOMORROW}, "valid_until"),
        ({"valid_from": datetime(2026, 1, 1)}, "valid_from"),  # noqa: DTZ001  # naive on purpose
        (
            {"valid_until": datetime.max.replace(tzinfo=timezone(-timedelta(hours=9)))},
            "valid_until",
        ),
    ],
)
async def test_bad_lifetimes_are_rejected(store: Store, fields: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await remember(context(store), OWNER, Draft("the harbour", **fields))
    assert caught.value.field == field
    assert caught.value.remedy
    stored: Memory = await remember(context(store), OWNER, Draft("the harbour"))
    with pytest.raises(InvalidInput):
        await update(context(store), OWNER, str(stored.id), fields)


async def test_dates_in_the_text_are_not_a_lifetime(store: Store) -> None:
    text = "The harbour is closed until 2020-01-01."
    stored = await remember(context(store), OWNER, Draft(text))
    assert (stored.valid_from, stored.valid_until) == (None, None)
    assert await recall_ids(store, datetime(2026, 1, 1, tzinfo=UTC)) == [stored.id]
