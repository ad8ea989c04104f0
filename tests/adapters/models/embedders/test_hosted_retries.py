"""The arithmetic of retries and batches, as tables."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.adapters.models.embedders.hosted import (
    BYTES_PER_TOKEN,
    OPENAI,
    VOYAGE,
    first_request,
)
from recollect.core.admin.timeouts import Timeouts
from recollect.core.recall.context import PhaseShares
from recollect.core.recall.settings import RecallSettings
from recollect.core.retry import (
    DOCUMENT_RETRIES,
    MAX_RETRY_AFTER,
    QUERY_RETRIES,
    RetryAfter,
    RetryPolicy,
    parse_retry_after,
)
from recollect.usecases.workers.embed import BEGIN_SECONDS

NOW = datetime(2026, 1, 5, 12, 0, 0, tzinfo=UTC)
RETRIES = RetryPolicy(
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
    assert RETRIES.wait(retry, jitter, asked) == wait


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
    assert parse_retry_after(header, NOW) == seconds


@given(st.text())
def test_no_retry_after_header_raises(header: str) -> None:
    parse_retry_after(header, NOW)


@given(st.lists(st.text(min_size=1, alphabet=st.characters(codec="utf-8"), max_size=30)))
def test_requests_hold_every_text_in_order_within_the_limits(texts: list[str]) -> None:
    provider = replace(VOYAGE, max_tokens=20)
    requests: list[list[str]] = []
    while left := texts[sum(map(len, requests)) :]:
        requests.append(first_request(left, provider, 3))
    assert [text for request in requests for text in request] == texts
    for request in requests:
        assert 1 <= len(request) <= 3
        size = sum(len(text.encode()) // BYTES_PER_TOKEN + 1 for text in request)
        assert size <= 20 or len(request) == 1


def test_a_text_longer_than_the_api_takes_is_cut_between_characters() -> None:
    provider = replace(OPENAI, max_text_tokens=4)
    assert first_request(["aé" * 20], provider, 3) == ["aéaéa"]


def test_a_query_is_given_up_while_its_leg_can_still_say_why() -> None:
    legs = PhaseShares().legs * RecallSettings().deadline_ms / 1000
    assert QUERY_RETRIES.total_seconds <= 0.8 * legs  # the store is asked first
    assert QUERY_RETRIES.request_seconds < DOCUMENT_RETRIES.request_seconds


def test_a_documents_text_is_sent_once_and_before_its_claim_lapses() -> None:
    assert DOCUMENT_RETRIES.attempts == 1
    assert DOCUMENT_RETRIES.total_seconds < BEGIN_SECONDS  # time to find the text at fault
    assert BEGIN_SECONDS + DOCUMENT_RETRIES.total_seconds <= Timeouts().lease - 10.0


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ([], 0.0),
        ([(0.0, 7.0)], 7.0 - 5.0),
        ([(0.0, 4.0)], 0.0),
        ([(0.0, 9.0), (1.0, 2.0)], 9.0 - 5.0),
        ([(0.0, 7.0), (4.0, 7.0)], 4.0 + 7.0 - 5.0),
        ([(0.0, 1e9)], MAX_RETRY_AFTER - 5.0),
    ],
)
def test_the_longest_requested_wait_counts(asked: list[tuple[float, float]], left: float) -> None:
    retry_after = RetryAfter()
    for moment, seconds in asked:
        retry_after.keep(seconds, moment)
    assert retry_after.left(5.0) == left
