"""How a memory relates to those nearest to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.core.memory.memory import Draft, Memory
from recollect.usecases.context import Context
from recollect.usecases.curation.propose import propose
from recollect.usecases.memory.change import link
from recollect.usecases.memory.remember import remember

pytestmark = pytest.mark.anyio

OLD = "The API runs on port 8000."
NEW = "The API moved to port 9000."


async def _store(context: Context, *contents: str, **fields: object) -> list[Memory]:
    return [
        await remember(context, "ada", replace(Draft(content), **fields))  # type: ignore[arg-type]  # any field
        for content in contents
    ]


async def test_a_changed_fact_is_proposed_to_supersede_the_older_one(context: Context) -> None:
    old, _, new = await _store(context, OLD, "Invoices are sent on Mondays.", NEW)
    (proposal,) = await propose(context, "ada", new)
    assert (proposal.newer.id, proposal.older.id) == (new.id, old.id)
    assert proposal.decision.older_quote == OLD
    assert proposal.decision.newer_quote == NEW


async def test_the_older_of_two_proposes_nothing(context: Context) -> None:
    old, _ = await _store(context, OLD, NEW)
    assert await propose(context, "ada", old) == []


async def test_nothing_is_proposed_about_sensitive_memories(context: Context) -> None:
    (hidden,) = await _store(context, OLD, is_sensitive=True)
    (new,) = await _store(context, NEW)
    assert await propose(context, "ada", new) == []
    assert await propose(context, "ada", replace(hidden, content=NEW)) == []


async def test_other_owners_and_projects_are_not_compared(context: Context) -> None:
    await remember(context, "bob", Draft(OLD))
    await _store(context, OLD, project="shop")
    (new,) = await _store(context, NEW)
    assert await propose(context, "ada", new) == []


async def test_a_linked_pair_is_not_proposed_again(context: Context) -> None:
    old, new = await _store(context, OLD, NEW)
    linked = await link(context, "ada", str(new.id), "supersedes", str(old.id))
    assert await propose(context, "ada", linked) == []


async def test_a_statement_inside_a_longer_turn_is_found(context: Context) -> None:
    old, _, new = await _store(
        context,
        "Thanks for the tips! By the way, I've been using my Fitbit Charge 3 for 6 months now.",
        "I think I'll try the spinach recipe next weekend. It sounds delicious.",
        "What should I cook? By the way, I've been using my Fitbit Charge 3 for 9 months now.",
    )
    (proposal,) = await propose(context, "ada", new)
    assert proposal.older.id == old.id
    assert proposal.decision.reason == "6 became 9"
