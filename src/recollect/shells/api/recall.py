"""Recall, why, searching episodes, and the settings that control how recall ranks."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel

from recollect.core.errors import AmbiguousId, NotFound
from recollect.core.recall.explain import WhyReport
from recollect.core.recall.settings import RecallSettings, SettingChange
from recollect.shells.api.context import Mine, needs
from recollect.shells.api.openapi import OWNED, PREFIX, SENT, example, problems
from recollect.shells.asgi.problems import MALFORMED
from recollect.wire.admin import SETTINGS, SETTINGS_LOG, SettingsIn, SettingsLogIn
from recollect.wire.problems import KINDS
from recollect.wire.recall import RECOLLECTION, to_shape
from recollect.wire.recall_inputs import EpisodesIn, RecallIn, WhyIn
from recollect.wire.why import WHY

_BODY: Final = (*SENT, MALFORMED)

router = APIRouter(prefix=PREFIX, tags=["Recall"])


@router.post(
    "/recall",
    operation_id="recall",
    **needs("recall"),
    summary="Recall",
    response_model=RECOLLECTION.shape,
    responses={
        200: example("recollection", "The hits, best first."),
        **problems(*_BODY),
    },
)
async def recall(question: RecallIn, mine: Mine) -> BaseModel:
    """Find the memories most useful for a query. A leg that fails or is late is listed in
    `degraded` and skipped; `explain` shows where each leg placed every hit.
    """
    recollection = await mine.recall(question.to_request(counts_words=question.explain))
    return to_shape(recollection, explain=question.explain)


@router.post(
    "/why",
    operation_id="why",
    **needs("why"),
    summary="Why this memory, or why not",
    response_model=WHY.shape,
    responses={
        200: example("why", "What each leg says about it, and what kept it out."),
        **problems(*_BODY, KINDS[NotFound], KINDS[AmbiguousId]),
    },
)
async def why(question: WhyIn, mine: Mine) -> WhyReport:
    """Explain the place of any memory, recalled or not: its rank (down to 10,000) and score in each
    leg, what kept it out, and what would bring it in.
    """
    return await mine.why(question.id, question.to_request())


@router.get(
    "/episodes/search",
    operation_id="search_episodes",
    **needs("recall"),
    summary="Search conversations",
    response_model=RECOLLECTION.shape,
    responses={
        200: example("recollection", "The episodes, best first."),
        **problems(*SENT),
    },
)
async def search_episodes(search: Annotated[EpisodesIn, Query()], mine: Mine) -> BaseModel:
    """Search the turns of conversations, in some sessions or in a project. A turn is stored like
    any memory, with the category `episode` and its session.
    """
    recollection = await mine.recall(search.to_request())
    return to_shape(recollection, explain=search.explain)


@router.get(
    "/settings",
    operation_id="get_settings",
    **needs("settings"),
    summary="Read the settings",
    response_model=SETTINGS.shape,
    responses={200: example("settings", "The settings."), **problems(*OWNED)},
)
async def get_settings(mine: Mine) -> RecallSettings:
    """Read how recall ranks."""
    return await mine.settings()


@router.patch(
    "/settings",
    operation_id="change_settings",
    **needs("change_settings"),
    summary="Change the settings",
    response_model=SETTINGS.shape,
    responses={
        200: example("settings", "The current settings."),
        **problems(*_BODY),
    },
)
async def change_settings(changes: SettingsIn, mine: Mine) -> RecallSettings:
    """Change how recall ranks for every key of this server, starting with the next request."""
    return await mine.change_settings(changes.to_changes())


@router.get(
    "/settings/audit",
    operation_id="settings_audit",
    **needs("settings_log"),
    summary="Who changed the settings",
    response_model=SETTINGS_LOG.shape,
    responses={
        200: example("settings_log", "The latest changes, newest first."),
        **problems(*SENT),
    },
)
async def settings_audit(
    query: Annotated[SettingsLogIn, Query()], mine: Mine
) -> list[SettingChange]:
    """List who changed which setting, from what to what, and when. Settings are shared, and so is
    this log: it names owners, but nothing they stored.
    """
    return await mine.settings_log(query.limit)
