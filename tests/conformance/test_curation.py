"""Proposals and the journal, on both stores that have them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.conformance.samples import OWNER, memory
from tests.strategies import MOMENT

from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.admin.stats import CurationCounts
from recollect.core.curation.proposals import (
    CURATOR,
    STATES,
    UNDECIDED,
    Addition,
    JournalEntry,
    Proposal,
)
from recollect.core.memory.links import Link

pytestmark = pytest.mark.anyio

OLD = "the API runs on port 8000"
NEW = "the API moved to port 9000"
Curated = SqliteStore | PostgresStore


@pytest.fixture(params=["sqlite", "postgres"])
async def curated(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Curated]:
    """A store with the older memory 1 and the newer memory 2."""
    opened: Curated
    if request.param == "sqlite":
        opened = SqliteStore(tmp_path / "memories.db")
    else:
        opened = PostgresStore(request.getfixturevalue("emptied_database_url"))
    async with opened:
        await opened.add(memory(1, OLD, project="shop"))
        await opened.add(memory(2, NEW, project="shop"))
        yield opened


def proposal(number: int = 50, newer: int = 2, older: int = 1, **fields: Any) -> Proposal:
    new = Proposal(
        id=UUID(int=number),
        kind="supersedes",
        newer=UUID(int=newer),
        older=UUID(int=older),
        newer_version=1,
        older_version=1,
        newer_quote=NEW,
        older_quote=OLD,
        reason="8000 became 9000",
        confidence=0.75,
        decided_by="rules",
        created_at=MOMENT,
        project="shop",
    )
    return replace(new, **fields)


def entry(number: int = 90, by: str = "ada", of: int = 50) -> JournalEntry:
    return JournalEntry(
        UUID(int=number),
        UUID(int=of),
        "supersedes",
        UUID(int=2),
        UUID(int=1),
        Addition(("sea",), (), (0.5, 0.75)),
        by,
        MOMENT,
        project="shop",
    )


async def change(store: Curated, number: int, **fields: Any) -> None:
    current = await store.get(OWNER, UUID(int=number))
    assert current is not None
    following = replace(current, version=current.version + 1, **fields)
    assert await store.replace(following, based_on=current.version)


async def accept(store: Curated, given: JournalEntry) -> bool:
    current = await store.get(OWNER, given.survivor)
    assert current is not None
    linked = replace(
        current, version=current.version + 1, links=(Link("supersedes", given.superseded),)
    )
    return await store.curation.accept(OWNER, given, linked, based_on=current.version)


async def states_of(store: Curated) -> list[str]:
    return [found.state for found in await store.curation.proposals(OWNER, STATES, 10)]


async def test_a_kept_proposal_is_listed_as_it_was_made(curated: Curated) -> None:
    assert await curated.curation.keep_proposals(OWNER, [proposal()]) == [proposal()]
    assert await curated.curation.proposals(OWNER, UNDECIDED, 10) == [proposal()]
    assert await curated.curation.proposal(OWNER, proposal().id) == proposal()
    assert await curated.curation.counts(OWNER) == CurationCounts(undecided=1)


async def test_proposals_belong_to_one_owner(curated: Curated) -> None:
    assert await curated.curation.keep_proposals("someone else", [proposal()]) == []
    await curated.curation.keep_proposals(OWNER, [proposal()])
    assert await curated.curation.proposals("someone else", STATES, 10) == []
    assert await curated.curation.proposal("someone else", proposal().id) is None
    assert not await curated.curation.decide("someone else", proposal().id, "rejected")


async def test_a_pair_is_proposed_again_only_after_a_change(curated: Curated) -> None:
    await curated.curation.keep_proposals(OWNER, [proposal()])
    assert await curated.curation.decide(OWNER, proposal().id, "rejected")
    assert await curated.curation.keep_proposals(OWNER, [proposal(51)]) == []
    await change(curated, 1, content="the API runs on port 8001")
    again = proposal(52, older_version=2)
    assert await curated.curation.keep_proposals(OWNER, [again]) == [again]
    assert await curated.curation.proposals(OWNER, STATES, 10) == [again]


@pytest.mark.parametrize("number", [1, 2])
async def test_an_undecided_proposal_is_void_once_a_memory_changed(
    curated: Curated, number: int
) -> None:
    await curated.curation.keep_proposals(OWNER, [proposal()])
    await change(curated, number, content="something else")
    assert await states_of(curated) == ["void"]
    assert await curated.curation.counts(OWNER) == CurationCounts()
    assert not await accept(curated, entry())
    assert await curated.curation.journal(OWNER, 10) == []


async def test_a_proposal_about_a_forgotten_memory_is_void(curated: Curated) -> None:
    await curated.curation.keep_proposals(OWNER, [proposal()])
    await change(curated, 1, deleted_at=MOMENT)
    assert await states_of(curated) == ["void"]


async def test_a_proposal_can_be_put_off_and_a_rejection_taken_back(curated: Curated) -> None:
    await curated.curation.keep_proposals(OWNER, [proposal()])
    assert await curated.curation.decide(OWNER, proposal().id, "later")
    assert await states_of(curated) == ["later"]
    assert await curated.curation.decide(OWNER, proposal().id, "rejected")
    assert not await curated.curation.decide(OWNER, proposal().id, "rejected")
    assert not await accept(curated, entry())
    assert await curated.curation.decide(OWNER, proposal().id, "later")
    assert await states_of(curated) == ["later"]


@pytest.mark.parametrize("number", [1, 2])
async def test_a_memory_that_becomes_sensitive_leaves_no_proposal(
    curated: Curated, number: int
) -> None:
    await curated.curation.keep_proposals(OWNER, [proposal()])
    await change(curated, number, is_sensitive=True)
    assert await curated.curation.proposals(OWNER, STATES, 10) == []
    assert await curated.curation.keep_proposals(OWNER, [proposal()]) == []


@pytest.mark.parametrize("number", [1, 2])
async def test_an_erased_memory_leaves_neither_proposal_nor_entry(
    curated: Curated, number: int
) -> None:
    await curated.curation.keep_proposals(OWNER, [proposal()])
    assert await accept(curated, entry())
    assert await curated.erase(OWNER, UUID(int=number))
    assert await curated.curation.proposals(OWNER, STATES, 10) == []
    assert await curated.curation.journal(OWNER, 10, undone=True) == []


async def test_accepting_changes_memory_proposal_and_journal_at_once(curated: Curated) -> None:
    await curated.curation.keep_proposals(OWNER, [proposal()])
    assert await accept(curated, entry(by=CURATOR))
    assert not await accept(curated, entry(91))
    assert await states_of(curated) == ["accepted"]
    assert await curated.curation.journal(OWNER, 10) == [entry(by=CURATOR)]
    assert await curated.curation.journal("someone else", 10) == []
    assert await curated.curation.counts(OWNER) == CurationCounts(applied=1)
    survivor = await curated.get(OWNER, UUID(int=2))
    assert survivor is not None
    assert (survivor.version, len(survivor.links)) == (2, 1)


async def test_an_acceptance_based_on_an_old_version_changes_nothing(curated: Curated) -> None:
    await curated.curation.keep_proposals(OWNER, [proposal()])
    stale = replace(memory(2, NEW, project="shop"), version=9)
    assert not await curated.curation.accept(OWNER, entry(), stale, based_on=8)
    assert await states_of(curated) == ["open"]
    assert await curated.curation.journal(OWNER, 10) == []


async def test_accepting_one_proposal_leaves_the_others_valid(curated: Curated) -> None:
    await curated.add(memory(3, "the API listens on 7000", project="shop"))
    await curated.add(memory(4, "the API moved again", project="shop"))
    others = [proposal(51, older=3), proposal(52, newer=4, older=2)]
    await curated.curation.keep_proposals(OWNER, [proposal(), *others])
    assert await accept(curated, entry())
    assert await states_of(curated) == ["accepted", "open", "open"]


async def test_undo_works_once_and_rejects_the_proposal(curated: Curated) -> None:
    await curated.curation.keep_proposals(OWNER, [proposal()])
    assert await accept(curated, entry())
    current = await curated.get(OWNER, UUID(int=2))
    assert current is not None
    without = replace(current, version=3, links=())
    curation = curated.curation
    assert not await curation.undo(OWNER, UUID(int=90), without, based_on=1, at=MOMENT)
    assert await curation.undo(OWNER, UUID(int=90), without, based_on=2, at=MOMENT)
    again = replace(without, version=4)
    assert not await curation.undo(OWNER, UUID(int=90), again, based_on=3, at=MOMENT)
    assert await curation.journal(OWNER, 10) == []
    assert await curation.journal_entry(OWNER, UUID(int=90)) == replace(entry(), undone_at=MOMENT)
    assert await states_of(curated) == ["rejected"]
    assert await curation.keep_proposals(OWNER, [proposal(53, newer_version=3)]) == []
    assert await curated.get(OWNER, UUID(int=2)) == without


async def test_the_journal_lists_the_newest_first(curated: Curated) -> None:
    await curated.add(memory(3, "the API listens on 7000", project="shop"))
    await curated.curation.keep_proposals(OWNER, [proposal(), proposal(51, older=3)])
    assert await accept(curated, entry())
    assert await accept(curated, replace(entry(91, of=51), superseded=UUID(int=3)))
    assert [found.id.int for found in await curated.curation.journal(OWNER, 10)] == [91, 90]
    assert [found.id.int for found in await curated.curation.journal(OWNER, 1)] == [91]


async def test_changed_memories_are_found_until_they_are_marked(curated: Curated) -> None:
    await curated.add(memory(3, "the vault code", is_sensitive=True))
    await curated.add(memory(4, "gone", deleted_at=MOMENT))
    seen: list[int] = []
    while (changed := await curated.curation.find_changed(1)) is not None:
        assert changed.owner == OWNER
        seen += [found.id.int for found in changed.memories]
        await curated.curation.mark_examined(changed)
    assert seen == [1, 2]
    assert await curated.curation.count_unexamined() == 0
    await change(curated, 1, content="the API runs on port 8001")
    assert await curated.curation.count_unexamined() > 0
    found = await curated.curation.find_changed(10)
    assert found is not None
    assert [each.id.int for each in found.memories] == [1]


async def test_a_memory_changed_while_it_is_examined_is_found_again(curated: Curated) -> None:
    changed = await curated.curation.find_changed(10)
    assert changed is not None
    await change(curated, 2, content="the API moved to port 9001")
    await curated.curation.mark_examined(changed)
    found = await curated.curation.find_changed(10)
    assert found is not None
    assert [each.version for each in found.memories] == [2]
