"""How much a key may use, and how long it has to wait."""

from __future__ import annotations

import pytest

from recollect.core.admin.admission import RateLimit


def test_a_minutes_worth_may_be_used_at_once_and_comes_back_steadily() -> None:
    limit = RateLimit(60)
    assert [limit.spend("a", 1, 0.0) for _ in range(60)] == [0.0] * 60
    assert limit.spend("a", 1, 0.0) == pytest.approx(1.0)
    assert limit.spend("a", 1, 1.0) == 0.0
    assert limit.spend("a", 1, 1.0) == pytest.approx(1.0)


def test_each_key_has_its_own() -> None:
    limit = RateLimit(1)
    assert limit.spend("a", 1, 0.0) == 0.0
    assert limit.spend("a", 1, 0.0) > 0.0
    assert limit.spend("b", 1, 0.0) == 0.0


def test_a_large_batch_gets_through_and_is_waited_for_afterwards() -> None:
    limit = RateLimit(60)
    assert limit.spend("a", 120, 0.0) == 0.0
    assert limit.spend("a", 1, 0.0) == pytest.approx(61.0)


def test_without_a_limit_nothing_waits() -> None:
    limit = RateLimit(None)
    assert all(limit.spend("a", 1_000, 0.0) == 0.0 for _ in range(10))
