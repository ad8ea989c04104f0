"""A recall's context for tests that call a leg or a walker by themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.core.recall.context import Deadline, RecallContext
from recollect.core.recall.request import RecallRequest
from recollect.core.recall.settings import RecallSettings
from recollect.usecases.recall.graph_leg import GraphLeg

if TYPE_CHECKING:
    from recollect.ports.graph import Walker
    from recollect.usecases.context import Context


def recall_context(
    request: RecallRequest, settings: RecallSettings | None = None, owner: str = "me"
) -> RecallContext:
    """Return a context that never runs out of time: its clock does not move."""
    deadline = Deadline(started=0.0, seconds=60.0, clock=lambda: 0.0)
    scope = replace(request.scope, valid_at=request.as_of)
    return RecallContext.create(owner, request, scope, settings or RecallSettings(), deadline)


def with_walker(context: Context, walker: Walker) -> Context:
    return replace(context, second_phase={"graph": GraphLeg(walker, context.store)})
