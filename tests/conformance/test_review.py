"""From a changed memory to a proposal, a decision, and back, on both stores that have proposals."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.conformance.curators import ADA, current, is_as_before, recall_contents, store, work

from recollect.core.agents.capture import statements
from recollect.core.curation.proposals import CURATOR
from recollect.core.errors import Conflict, NotFound
from recollect.core.memory.links import Link
from recollect.core.memory.memory import EVERYWHERE, Draft
from recollect.core.recall.request import RecallRequest
from recollect.usecases.admin.within_project import ProjectStore
from recollect.usecases.agents.capture import capture
from recollect.usecases.context import Context
from recollect.usecases.curation.review import accept, accept_all, decide, list_proposals, undo
from recollect.usecases.memory.change import update
from recollect.usecases.service import LocalService

pytestmark = pytest.mark.anyio

OLD = "The API runs on port 8000."
NEW = "The API moved to port 9000."


async def test_a_changed_fact_is_proposed_once(curated: Context) -> None:
    old, new = await store(curated, OLD, NEW)
    await work(curated)
    await work(curated)
    (found,) = await list_proposals(curated, ADA)
    assert (found.kind, found.newer, found.older) == ("supersedes", new.id, old.id)
    assert (found.newer_quote, found.older_quote, found.decided_by) == (NEW, OLD, "rules")
    assert found.state == "open"


async def test_accepting_takes_the_other_out_of_recall_and_undo_brings_it_back(
    curated: Context,
) -> None:
    old, new = await store(curated, OLD, NEW)
    await work(curated)
    (found,) = await list_proposals(curated, ADA)
    entry = await accept(curated, ADA, str(found.id), by=ADA)
    assert await recall_contents(curated, "API port") == [NEW]
    assert (await current(curated, old)) == old
    undone = await undo(curated, ADA)
    assert (undone.id, undone.undone_at is not None) == (entry.id, True)
    assert {*(await recall_contents(curated, "API port"))} == {OLD, NEW}
    assert is_as_before(await current(curated, new), new)
    with pytest.raises(NotFound, match="nothing to undo"):
        await undo(curated, ADA)


async def test_the_older_memory_can_be_kept_instead(curated: Context) -> None:
    old, new = await store(curated, OLD, NEW)
    await work(curated)
    (found,) = await list_proposals(curated, ADA)
    await accept(curated, ADA, str(found.id), keep="older", by=ADA)
    assert (await current(curated, old)).links == (Link("supersedes", new.id),)
    assert await recall_contents(curated, "API port") == [OLD]


async def test_a_duplicate_gives_its_tags_keywords_and_importance(curated: Context) -> None:
    await store(curated, OLD, tags=("api", "net"), importance=0.9, project="a")
    (new,) = await store(
        curated,
        "The API runs on port 8000!",
        tags=("net", "new"),
        expanded_keywords=("http",),
        project="a",
    )
    await work(curated)
    (found,) = await list_proposals(curated, ADA)
    assert found.kind == "duplicate_of"
    await accept(curated, ADA, str(found.id), by=ADA)
    merged = await current(curated, new)
    assert (merged.tags, merged.importance) == (("net", "new", "api"), 0.9)
    edited = await update(curated, ADA, str(new.id), {"tags": ("mine", *merged.tags)})
    assert edited.importance == 0.9
    await undo(curated, ADA, str(found.id))
    reverted = await current(curated, new)
    assert (reverted.tags, reverted.importance) == (("mine", "net", "new"), 0.5)
    assert reverted.links == ()


async def test_a_rejected_pair_comes_back_only_after_a_change(curated: Context) -> None:
    old, _ = await store(curated, OLD, NEW)
    await work(curated)
    (found,) = await list_proposals(curated, ADA)
    await decide(curated, ADA, str(found.id), "rejected")
    with pytest.raises(Conflict, match="rejected already"):
        await accept(curated, ADA, str(found.id), by=ADA)
    await work(curated)
    assert await list_proposals(curated, ADA) == []
    await update(curated, ADA, str(old.id), {"content": "The API runs on port 8001."})
    await work(curated)
    (again,) = await list_proposals(curated, ADA)
    assert again.older_quote == "The API runs on port 8001."


async def test_a_rejection_is_taken_back_by_putting_it_off(curated: Context) -> None:
    _, new = await store(curated, OLD, NEW)
    await work(curated)
    (found,) = await list_proposals(curated, ADA)
    await decide(curated, ADA, str(found.id), "rejected")
    assert (await decide(curated, ADA, str(found.id), "later")).state == "later"
    await accept(curated, ADA, str(found.id), by=ADA)
    await undo(curated, ADA, str(found.id))
    await decide(curated, ADA, str(found.id), "later")
    assert [each.id for each in await list_proposals(curated, ADA)] == [found.id]
    await decide(curated, ADA, str(found.id), "rejected")
    with pytest.raises(Conflict, match="rejected already"):
        await decide(curated, ADA, str(found.id), "rejected")
    await update(curated, ADA, str(new.id), {"content": "Lunch is at noon."})
    with pytest.raises(Conflict, match="void"):
        await decide(curated, ADA, str(found.id), "later")


async def test_a_void_proposal_cannot_be_accepted(curated: Context) -> None:
    _, new = await store(curated, OLD, NEW)
    await work(curated)
    (found,) = await list_proposals(curated, ADA)
    await update(curated, ADA, str(new.id), {"content": "Lunch is at noon."})
    assert await list_proposals(curated, ADA) == []
    with pytest.raises(Conflict, match="void"):
        await accept(curated, ADA, str(found.id), by=ADA)


async def test_accept_all_accepts_every_proposal_of_a_kind(curated: Context) -> None:
    await store(curated, OLD, "The API listens on port 8100.", NEW)
    await work(curated)
    service = LocalService(curated, ADA)
    wanted = [each for each in await service.proposals() if each.kind == "supersedes"]
    assert len(wanted) > 1
    accepted = await accept_all(service, "supersedes")
    assert {entry.proposal for entry in accepted} == {each.id for each in wanted}


async def test_a_key_limited_to_a_project_does_not_see_the_proposals_of_others(
    curated: Context,
) -> None:
    await store(curated, OLD, NEW, project="shop")
    await work(curated)
    (found,) = await list_proposals(curated, ADA)
    elsewhere = replace(curated, store=ProjectStore(curated.store, "other"))
    assert await list_proposals(elsewhere, ADA) == []
    with pytest.raises(NotFound):
        await accept(elsewhere, ADA, str(found.id), by=ADA)
    await accept(curated, ADA, str(found.id), by=ADA)
    with pytest.raises(NotFound):
        await undo(elsewhere, ADA)


async def test_apply_acts_only_above_the_threshold(curated: Context) -> None:
    await store(curated, OLD, NEW)
    await work(curated, mode="apply", threshold=0.99)
    (found,) = await list_proposals(curated, ADA)
    assert found.confidence < 0.99
    service = LocalService(curated, ADA)
    assert await service.journal() == []
    await store(curated, "the api moved to port 9000")
    await work(curated, mode="apply", threshold=0.99)
    (entry,) = await service.journal()
    assert (entry.kind, entry.by) == ("duplicate_of", CURATOR)
    stats = await service.stats()
    assert stats.curation is not None
    assert stats.curation.applied == 1


async def test_recalled_text_that_comes_back_is_neither_stored_nor_proposed(
    curated: Context,
) -> None:
    service = LocalService(curated, ADA)
    hook = LocalService(replace(curated, actor="hook"), ADA)
    seeds = (
        "We decided to use Postgres for the audit log of the staging cluster.",
        "Always run the linter before committing to the staging branch.",
    )
    stored = await store(curated, *seeds)
    await work(curated)
    for number in range(10):
        hits = (await service.recall(RecallRequest("staging"))).hits
        assert {hit.memory.id for hit in hits} == {memory.id for memory in stored}
        for hit in hits:
            again = await service.remember(Draft(hit.memory.content))
            assert again.was_known
            found = statements(hit.memory.content)
            assert found
            captured = await capture(hook, found, project=None, session="s", allowance=10)
            assert not captured.stored
            # Said by the user, it stands for the user: once (docs/adr/0064).
            assert bool(captured.refined) == (number == 0)
        await work(curated)
    page = await service.page(EVERYWHERE, None, 100)
    assert {memory.id for memory in page.memories} == {memory.id for memory in stored}
    assert all(memory.version == 2 for memory in page.memories)
    assert await service.proposals() == []
