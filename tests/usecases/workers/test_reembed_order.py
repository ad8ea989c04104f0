"""Changes of the model that were killed half way, and switches that would come too early: a
rollback leads to the previous model, nothing is left behind, and recall never knows less than
before.
"""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.usecases.queues import InMemoryQueue, Model
from tests.usecases.workers.test_reembed import make_served, states

from recollect.core.errors import ModelUnavailable, NotFound
from recollect.core.recall.space import EmbeddingProgress, SpaceState, StoredSpace
from recollect.usecases.workers import reembed

pytestmark = pytest.mark.anyio


class Killed(BaseException):
    """Ends a change as SIGKILL does: no cleanup runs."""


async def kill_while_removing(
    queue: InMemoryQueue, change: Coroutine[Any, Any, StoredSpace]
) -> None:
    """Let a change die after it has given a space up, but before anything of it is removed."""
    drop = queue.drop_space

    async def retire_and_die(space: StoredSpace) -> None:
        state: SpaceState = "retired"
        queue.known = [
            replace(known, state=state, is_former=False) if known.id == space.id else known
            for known in queue.known
        ]
        raise Killed

    queue.drop_space = retire_and_die  # type: ignore[method-assign]  # dies there
    with pytest.raises(Killed):
        await change
    queue.drop_space = drop  # type: ignore[method-assign]  # the next one lives


async def test_rollback_never_leads_to_a_space_whose_cancellation_was_killed() -> None:
    models = Model("old"), Model("new"), Model("third")
    parts, queue = await make_served(*models)
    await reembed.reembed(parts, "new")
    await queue.open_space("third", models[2].space)
    await kill_while_removing(queue, reembed.cancel(parts))
    assert states(queue) == {"old": "retired", "new": "active", "third": "retired"}
    assert (await reembed.rollback(parts)).embedder == "old"
    assert states(queue) == {"old": "active", "new": "retired"}, "the rest was removed"


async def test_a_killed_cancellation_is_finished_by_the_next() -> None:
    parts, queue = await make_served(Model("old"), Model("new"))
    await queue.open_space("new", Model("new").space)
    await kill_while_removing(queue, reembed.cancel(parts))
    with pytest.raises(NotFound, match="no former space"):
        await reembed.rollback(parts)
    assert (await reembed.cancel(parts)).embedder == "new"
    assert states(queue) == {"old": "active"}
    with pytest.raises(NotFound, match="no re-embedding"):
        await reembed.cancel(parts)


async def test_rollback_leads_to_the_previous_model_whichever_space_is_older() -> None:
    parts, queue = await make_served(Model("a"), Model("b"), Model("c"))
    await reembed.reembed(parts, "b")
    await reembed.rollback(parts)
    await kill_while_removing(queue, reembed.reembed(parts, "c"))
    assert states(queue) == {"a": "retired", "b": "retired", "c": "active"}
    assert (await reembed.rollback(parts)).embedder == "a"
    assert states(queue) == {"a": "active", "c": "retired"}


async def test_the_same_change_again_removes_what_a_killed_one_left() -> None:
    parts, queue = await make_served(Model("a"), Model("b"), Model("c"))
    await reembed.reembed(parts, "b")
    await kill_while_removing(queue, reembed.reembed(parts, "c"))
    await reembed.reembed(parts, "c")
    assert states(queue) == {"b": "retired", "c": "active"}
    assert (await reembed.rollback(parts)).embedder == "b"


async def test_a_change_that_begins_while_another_is_cleaned_up_remains() -> None:
    models = Model("a"), Model("b"), Model("c")
    parts, queue = await make_served(*models)
    await queue.open_space("b", models[1].space)
    await kill_while_removing(queue, reembed.cancel(parts))
    activate, spaces = queue.activate, queue.spaces

    async def activate_and_intercept(space: StoredSpace) -> None:
        await activate(space)
        queue.spaces = open_after_look  # type: ignore[method-assign]  # the next look

    async def open_after_look() -> list[StoredSpace]:
        queue.spaces = spaces  # type: ignore[method-assign]  # only that one
        found = await spaces()
        await queue.open_space("b", models[1].space)  # by another process, after the look
        return found

    queue.activate = activate_and_intercept  # type: ignore[method-assign]  # at the switch
    await reembed.reembed(parts, "c")
    assert states(queue) == {"a": "retired", "b": "filling", "c": "active"}


async def test_a_rollback_that_is_killed_or_cancelled_can_be_repeated() -> None:
    old = Model("old")
    parts, queue = await make_served(old, Model("new"))
    await reembed.reembed(parts, "new")
    queue.texts[UUID(int=9999)] = "stored since"

    def die(_: object) -> None:
        raise Killed

    with pytest.raises(Killed):
        await reembed.rollback(parts, die)
    assert states(queue) == {"old": "filling", "new": "active"}
    assert (await reembed.cancel(parts)).embedder == "old"
    assert states(queue) == {"old": "retired", "new": "active"}
    old.asked.clear()
    queue.texts[UUID(int=10_000)] = "stored still later"
    with pytest.raises(Killed):
        await reembed.rollback(parts, die)
    await reembed.rollback(parts)
    assert states(queue) == {"old": "active", "new": "retired"}
    assert ["text 1"] not in old.asked, "existing vectors are retained"


async def test_a_backlog_of_the_old_space_is_no_excuse_for_the_new_one() -> None:
    new = Model("new", poison={"text 1": ValueError()})
    parts, queue = await make_served(Model("old"), new)
    build = queue.build_indexes

    async def build_and_store(space: StoredSpace) -> None:
        await build(space)
        queue.texts[UUID(int=9999)] = "stored meanwhile"  # no worker embeds it for the old space

    queue.build_indexes = build_and_store  # type: ignore[method-assign]  # stores while it builds
    with pytest.raises(ModelUnavailable, match="1 memory; the last error: ValueError"):
        await reembed.reembed(parts, "new")
    assert states(queue) == {"old": "active", "new": "filling"}


@pytest.mark.parametrize("accept_parked", [False, True])
async def test_what_the_old_space_learns_at_the_last_moment_is_waited_for(
    accept_parked: bool,
) -> None:
    parts, queue = await make_served(Model("old"), Model("new"))
    (old,) = queue.known
    progress = queue.progress

    async def finish_late(space: StoredSpace, owner: str | None = None) -> EmbeddingProgress:
        found = await progress(space, owner)
        if found.waiting == 0 and UUID(int=9999) not in queue.texts:
            queue.texts[UUID(int=9999)] = "stored after the last look"
            (job,) = await queue.claim(old, 1)
            await queue.finish(old, [(job, [1.0, 1.0])])
        return found

    build = queue.build_indexes

    async def build_and_intercept(space: StoredSpace) -> None:
        await build(space)
        queue.progress = finish_late  # type: ignore[method-assign]  # from here on

    queue.build_indexes = build_and_intercept  # type: ignore[method-assign]  # during the build
    active = await reembed.reembed(parts, "new", accept_parked=accept_parked)
    assert queue.has(active, UUID(int=9999))
