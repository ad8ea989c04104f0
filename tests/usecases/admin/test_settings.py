from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import pytest
from tests.strategies import MOMENT

from recollect.core.errors import InvalidInput
from recollect.core.recall.request import LegName
from recollect.core.recall.settings import RecallSettings
from recollect.usecases.admin.settings import change_settings, settings, settings_log
from recollect.usecases.context import Context

pytestmark = pytest.mark.anyio


async def test_nothing_stored_means_the_defaults(context: Context) -> None:
    assert await settings(context) == RecallSettings()


async def test_a_change_is_answered_and_obeyed(context: Context) -> None:
    wanted = RecallSettings(fusion="convex", rrf_k=10)
    assert await change_settings(context, "me", {"fusion": "convex", "rrf_k": "10"}) == wanted
    assert await settings(context) == wanted


async def test_the_answer_holds_what_another_wrote_meanwhile(context: Context) -> None:
    class ConcurrentlyChanged:
        """The store's settings, of which another process changes one just before us."""

        read_settings = context.settings.read_settings
        settings_log = context.settings.settings_log

        async def write_settings(
            self, changes: Mapping[str, object], *, by: str, at: datetime
        ) -> None:
            await context.settings.write_settings({"depth": 80}, by="another", at=at)
            await context.settings.write_settings(changes, by=by, at=at)

    changed = await change_settings(
        replace(context, settings=ConcurrentlyChanged()), "me", {"rrf_k": 10}
    )
    assert changed == RecallSettings(rrf_k=10, depth=80) == await settings(context)


async def test_only_what_was_named_becomes_a_row(context: Context) -> None:
    """So that a better default of a later version reaches everybody who chose nothing."""
    await change_settings(context, "me", {"rrf_k": 10})
    await change_settings(context, "me", {"depth": 80})
    assert await context.settings.read_settings() == {"rrf_k": 10, "depth": 80}


async def test_one_illegal_change_stops_all_of_them(context: Context) -> None:
    with pytest.raises(InvalidInput) as refused:
        await change_settings(context, "me", {"rrf_k": 10, "dense_weight": 9})
    assert refused.value.field == "dense_weight"
    assert await settings(context) == RecallSettings()


@pytest.mark.parametrize(
    ("legs", "broken", "changes"),
    [
        (("lexical",), (), {"lexical_weight": 0}),
        (("lexical",), (), {"lexical_weight": "0.0", "dense_weight": 2, "graph_weight": 2}),
        (("lexical", "dense"), (), {"lexical_weight": 0, "dense_weight": 0}),
        (("lexical", "dense"), ("dense",), {"lexical_weight": 0}),
    ],
)
async def test_settings_that_leave_no_leg_are_refused(
    context: Context,
    legs: tuple[LegName, ...],
    broken: tuple[LegName, ...],
    changes: dict[str, object],
) -> None:
    one = context.legs["lexical"]
    context = replace(context, legs=dict.fromkeys(legs, one), broken_legs=frozenset(broken))
    with pytest.raises(InvalidInput, match="recall could not find anything") as refused:
        await change_settings(context, "me", changes)
    assert refused.value.field == "lexical_weight"
    assert "lexical_weight" in refused.value.remedy
    assert await settings(context) == RecallSettings()


async def test_the_last_leg_is_kept_when_weights_are_changed_one_by_one(context: Context) -> None:
    one = context.legs["lexical"]
    context = replace(context, legs={"lexical": one, "dense": one})
    await change_settings(context, "me", {"lexical_weight": 0})
    with pytest.raises(InvalidInput, match="recall could not find anything") as refused:
        await change_settings(context, "me", {"depth": 80, "dense_weight": 0})
    assert refused.value.field == "dense_weight"
    await change_settings(context, "me", {"dense_weight": 0, "lexical_weight": 1})


async def test_no_change_at_all_is_refused(context: Context) -> None:
    with pytest.raises(InvalidInput, match="no setting was given"):
        await change_settings(context, "me", {})


async def test_settings_row_of_another_version_can_be_fixed(context: Context) -> None:
    rows = {"fusion": "of a newer version", "unheard_of": 1}
    await context.settings.write_settings(rows, by="me", at=MOMENT)
    assert await settings(context) == RecallSettings()
    assert await change_settings(context, "me", {"fusion": "convex"}) == RecallSettings(
        fusion="convex"
    )


async def test_the_log_says_who_changed_what_and_when(context: Context) -> None:
    await change_settings(context, "ada", {"dense_weight": "0.5"})
    await change_settings(context, "bob", {"dense_weight": 0.7, "second_stage": "off"})
    log = await settings_log(context, 10)
    assert [(entry.by, entry.name, entry.old, entry.new) for entry in log] == [
        ("bob", "second_stage", None, "off"),
        ("bob", "dense_weight", 0.5, 0.7),
        ("ada", "dense_weight", None, 0.5),
    ]
    assert log[0].at > log[2].at


async def test_a_refused_change_is_not_logged(context: Context) -> None:
    with pytest.raises(InvalidInput):
        await change_settings(context, "ada", {"rrf_k": 10, "dense_weight": 9})
    assert await settings_log(context, 10) == []


@pytest.mark.parametrize("limit", [0, 1_001])
async def test_the_log_is_read_in_reasonable_pieces(context: Context, limit: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        await settings_log(context, limit)
    assert refused.value.field == "limit"
