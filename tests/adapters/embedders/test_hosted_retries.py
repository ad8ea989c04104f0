"""The arithmetic of retries and batches, as tables."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.adapters.embedders.hosted import BYTES_PER_TOKEN, batches
from recollect.adapters.embedders.hosted_providers import OPENAI, VOYAGE
from recollect.adapters.hosted.retries import (
    DOCUMENT_PATIENCE,
    QUERY_PATIENCE,
    Patience,
    retry_after,
    wait_before,
)
from recollect.core.recall_settings import RecallSettings

NOW = datetime(2026, 1, 5, 12, 0, 0, tzinfo=UTC)
PATIENCE = Patience(
    request_seconds=1, attempts=9, total_seconds=100, first_wait=0.5, longest_wait=4
)


@pytest.mark.parametrize(
    ("retry", "jitter", "asked", "wait"),
    [
        (1, 1.0, None, 0.5),
        (1, 0.0, None, 0.5 * 0.5),
        (2, 1.0, None, 0.5 * 2),
        (4, 1.0, None, 4.0),
        (9, 1.0, None, 4.0),
        (9, 0.0, None, 4.0 * 0.5),
        (1, 1.0, 20.0, 20.0),
        (4, 1.0, 0.1, 4.0),
    ],
)
def test_waits(retry: int, jitter: float, asked: float | None, wait: float) -> None:
    assert wait_before(retry, PATIENCE, jitter, asked) == wait


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("12", 12.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("Mon, 05 Jan 2026 12:00:30 GMT", 30.0),
        ("Mon, 05 Jan 2026 12:00:30 -0000", 30.0),
        ("Mon, 05 Jan 2026 11:00:00 GMT", 0.0),
        ("Mon, 99 Jan 2026 11:00:00 GMT", None),
    ],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, NOW) == seconds


@given(st.text())
def test_no_retry_after_header_raises(header: str) -> None:
    retry_after(header, NOW)


@given(st.lists(st.text(min_size=1, alphabet=st.characters(codec="utf-8"), max_size=30)))
def test_batches_hold_every_text_in_order_within_the_limits(texts: list[str]) -> None:
    provider = replace(VOYAGE, max_texts=3, max_tokens=20)
    made = list(batches(texts, provider))
    assert [text for batch in made for text in batch] == texts
    for batch in made:
        assert 1 <= len(batch) <= 3
        size = sum(len(text.encode()) // BYTES_PER_TOKEN + 1 for text in batch)
        assert size <= 20 or len(batch) == 1


def test_a_text_longer_than_the_api_takes_is_cut_between_characters() -> None:
    provider = replace(OPENAI, max_text_tokens=4)
    assert list(batches(["aé" * 20], provider)) == [["aéaéa"]]


def test_a_query_is_given_up_inside_a_recalls_deadline_and_documents_are_not_hurried() -> None:
    defaults: dict[str, Any] = {one.name: one.default for one in fields(RecallSettings)}
    assert QUERY_PATIENCE.total_seconds * 1000 < defaults["deadline_ms"]
    assert QUERY_PATIENCE.request_seconds < DOCUMENT_PATIENCE.request_seconds
    assert QUERY_PATIENCE.attempts < DOCUMENT_PATIENCE.attempts
