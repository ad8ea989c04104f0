"""Who runs, who waits, and who is refused, with a clock that the test controls."""

from __future__ import annotations

import pytest

from recollect.core.admin.admission import Admission, RateLimit, Ticket


def arrive(admission: Admission, key: str, count: int, now: float = 0.0) -> list[Ticket]:
    return [admission.arrive(key, now, now) for _ in range(count)]


def test_only_as_many_run_as_there_are_slots() -> None:
    admission = Admission(slots=4, seconds=2.0)
    first, second = arrive(admission, "a", 3), arrive(admission, "b", 3)
    assert admission.begin(0.0) == [first[2], second[2], first[1], second[1]]
    assert (admission.running, admission.waiting) == (4, 2)
    admission.leave(first[2], 0.1)
    assert admission.begin(0.1) == [first[0]]


def test_one_key_does_not_get_every_slot() -> None:
    admission = Admission(slots=8, seconds=2.0)
    noisy = arrive(admission, "noisy", 500)
    assert admission.begin(0.0) == noisy[:-7:-1]
    quiet = arrive(admission, "quiet", 1)
    assert admission.begin(0.0) == quiet


def test_with_one_slot_a_single_key_still_runs() -> None:
    admission = Admission(slots=1, seconds=2.0)
    only = arrive(admission, "a", 2)
    assert admission.begin(0.0) == only[1:]


def test_turns_go_around_the_keys() -> None:
    admission = Admission(slots=1, seconds=2.0)
    noisy = arrive(admission, "noisy", 100)
    quiet = arrive(admission, "quiet", 2)
    order: list[Ticket] = []
    for _ in range(5):
        (ticket,) = admission.begin(0.0)
        order.append(ticket)
        admission.leave(ticket, 0.0)
    assert order == [noisy[99], quiet[1], noisy[98], quiet[0], noisy[97]]


def test_what_can_no_longer_be_answered_in_time_is_not_begun() -> None:
    admission = Admission(slots=1, seconds=2.0)
    late = admission.arrive("a", 0.0, 0.0)
    assert admission.begin(1.99) == []
    assert late.begun is None
    admission.leave(late, 2.0)
    assert admission.waiting == 0


def test_the_slower_requests_are_the_sooner_they_must_begin() -> None:
    admission = Admission(slots=1, seconds=2.0)
    quick = admission.arrive("a", 0.0, 0.0)
    admission.leave(quick, 0.0)
    for _ in range(200):
        ticket = admission.arrive("a", 0.0, 0.0)
        admission.begin(0.0)
        admission.leave(ticket, 1.5)
    slow = admission.arrive("a", 0.0, 0.0)
    assert quick.latest == 1.8
    assert slow.latest < 0.6


def test_a_request_whose_client_is_gone_leaves_the_line() -> None:
    admission = Admission(slots=1, seconds=2.0)
    first, gone, running = arrive(admission, "a", 3)
    assert admission.begin(0.0) == [running]
    admission.leave(gone, 0.0)
    admission.leave(running, 0.0)
    assert admission.begin(0.0) == [first]


def test_the_longer_the_line_the_later_to_try_again() -> None:
    admission = Admission(slots=4, seconds=2.0)
    assert admission.retry_after() == 1.0
    arrive(admission, "a", 80)
    assert admission.retry_after() == 1.0 + 80 * 0.2 / 4
    arrive(admission, "a", 10_000)
    assert admission.retry_after() == 10.0


def test_refusals_have_a_pace_and_are_not_held_back_for_long() -> None:
    admission = Admission(slots=4, seconds=2.0)
    pace = 0.2 / 4
    assert [admission.refuse(1.0) for _ in range(3)] == pytest.approx([pace, 2 * pace, 3 * pace])
    assert admission.refuse(9.0) == pytest.approx(pace)
    assert max(admission.refuse(9.0) for _ in range(10_000)) == pytest.approx(6.0)


def test_a_free_slot_is_used_however_slow_requests_are() -> None:
    admission = Admission(slots=1, seconds=0.1)
    ticket = admission.arrive("a", 0.0, 5.0)
    assert admission.begin(5.0) == [ticket]


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
