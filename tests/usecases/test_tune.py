from __future__ import annotations

import pytest

from recollect.core.errors import InvalidInput
from recollect.core.recall_settings import RecallSettings
from recollect.usecases.parts import Parts
from recollect.usecases.tune import change_settings, settings

pytestmark = pytest.mark.anyio


async def test_nothing_stored_means_the_defaults(parts: Parts) -> None:
    assert await settings(parts) == RecallSettings()


async def test_a_change_is_answered_and_obeyed(parts: Parts) -> None:
    wanted = RecallSettings(fusion="convex", rrf_k=10)
    assert await change_settings(parts, {"fusion": "convex", "rrf_k": "10"}) == wanted
    assert await settings(parts) == wanted


async def test_only_what_was_named_becomes_a_row(parts: Parts) -> None:
    """So that a better default of a later version reaches everybody who chose nothing."""
    await change_settings(parts, {"rrf_k": 10})
    await change_settings(parts, {"depth": 80})
    assert await parts.settings.read_settings() == {"rrf_k": 10, "depth": 80}


async def test_one_illegal_change_stops_all_of_them(parts: Parts) -> None:
    with pytest.raises(InvalidInput) as refused:
        await change_settings(parts, {"rrf_k": 10, "dense_weight": 9})
    assert refused.value.field == "dense_weight"
    assert await settings(parts) == RecallSettings()


async def test_no_change_at_all_is_refused(parts: Parts) -> None:
    with pytest.raises(InvalidInput, match="no setting was named"):
        await change_settings(parts, {})


async def test_a_row_of_another_version_can_be_mended(parts: Parts) -> None:
    await parts.settings.write_settings({"fusion": "of a newer version", "unheard_of": 1})
    assert await settings(parts) == RecallSettings()
    assert await change_settings(parts, {"fusion": "convex"}) == RecallSettings(fusion="convex")
