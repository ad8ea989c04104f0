"""Cursors survive a round trip, and nothing else is accepted as one."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import MOMENT, any_text, moments

from recollect.core.errors import InvalidInput
from recollect.core.memory.listing import MAX_PAGE, Cursor, check_page_size


@given(moments, st.uuids())
def test_a_cursor_comes_back_as_it_was(moment: datetime, id: UUID) -> None:
    text = Cursor(moment, id).encode()
    assert Cursor.decode(text) == Cursor(moment, id)
    assert text.replace("-", "").replace("_", "").isalnum()  # fits into a URL unescaped


def encode(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def test_a_moment_of_another_time_zone_is_the_same_moment() -> None:
    east = MOMENT.astimezone(timezone(timedelta(hours=1)))
    assert Cursor.decode(Cursor(east, UUID(int=1)).encode()) == Cursor(MOMENT, UUID(int=1))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "next",
        "🚀",
        "\ud800",
        encode("no bar"),
        encode(f"{MOMENT.isoformat()}|not an id"),
        encode(f"yesterday|{UUID(int=1)}"),
        encode(f"2026-11-15T09:30:00|{UUID(int=1)}"),  # without a time zone
        encode(f"0001-01-01T00:00:00+14:00|{UUID(int=1)}"),
        encode(f"{MOMENT.isoformat()}|{UUID(int=1)}|more"),
    ],
)
def test_what_no_listing_gave_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Cursor.decode(text)
    assert refused.value.field == "cursor"
    assert "next_cursor" in refused.value.remedy


@given(any_text)
def test_any_text_is_a_cursor_or_refused(text: str) -> None:
    try:
        cursor = Cursor.decode(text)
    except InvalidInput:
        return
    assert cursor.created_at.tzinfo is UTC


@pytest.mark.parametrize("limit", [1, MAX_PAGE])
def test_page_sizes_within_range_are_accepted(limit: int) -> None:
    check_page_size(limit)


@pytest.mark.parametrize("limit", [-1, 0, MAX_PAGE + 1])
def test_page_sizes_outside_are_refused(limit: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_page_size(limit)
    assert refused.value.field == "limit"
