"""Recall, and the settings that decide how it ranks."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from recollect.api import examples
from recollect.api.context import Mine, TheMetrics
from recollect.api.openapi import PREFIX, problems
from recollect.asgi.problems import MALFORMED
from recollect.core.errors import InvalidInput, NotAllowed, StoreUnavailable
from recollect.wire import RecallIn, RecollectionOut, SettingsIn, SettingsOut
from recollect.wire.problems import KINDS

_ALWAYS: Final = (KINDS[NotAllowed], KINDS[StoreUnavailable])
_BODY: Final = (*_ALWAYS, KINDS[InvalidInput], MALFORMED)

router = APIRouter(prefix=PREFIX, tags=["Recall"])


@router.post(
    "/recall",
    operation_id="recall",
    summary="Recall",
    responses={
        200: examples.of(examples.RECOLLECTION, "The hits, best first."),
        **problems(*_BODY),
    },
)
async def recall(question: RecallIn, mine: Mine, metrics: TheMetrics) -> RecollectionOut:
    """Find the memories most useful for a query. A leg that fails or is late is named in
    `degraded` and left out; `explain` says of each hit where every leg placed it.
    """
    recollection = await mine.recall(question.to_request())
    metrics.observe_recall(recollection)
    return RecollectionOut.from_recollection(recollection, explain=question.explain)


@router.get(
    "/settings",
    operation_id="get_settings",
    summary="Read the settings",
    responses={200: examples.of(examples.SETTINGS, "The settings."), **problems(*_ALWAYS)},
)
async def get_settings(mine: Mine) -> SettingsOut:
    """How recall ranks at this moment."""
    return SettingsOut.from_settings(await mine.settings())


@router.patch(
    "/settings",
    operation_id="change_settings",
    summary="Change the settings",
    responses={
        200: examples.of(examples.SETTINGS, "The settings as they are now."),
        **problems(*_BODY),
    },
)
async def change_settings(changes: SettingsIn, mine: Mine) -> SettingsOut:
    """Change how recall ranks, for every key of this server; the next request obeys."""
    return SettingsOut.from_settings(await mine.change_settings(changes.to_changes()))
