"""Which connection is closed when there are too many."""

from __future__ import annotations

from recollect.shells.asgi.protocol import Connections


def test_the_connection_that_waited_longest_makes_room() -> None:
    open = Connections[str](total=2, per_address=9)
    assert open.add("first", "a") is None
    assert open.add("second", "b") is None
    assert open.add("third", "c") == "first"
    open.remove("first")
    assert open.add("fourth", "d") == "second"


def test_a_request_that_is_being_answered_is_not_closed_for_another() -> None:
    open = Connections[str](total=2, per_address=9)
    open.add("first", "a")
    open.work("first")
    open.add("second", "a")
    assert open.add("third", "a") == "second"
    open.remove("second")
    open.work("third")
    assert open.add("fourth", "a") == "fourth"


def test_an_answered_connection_waits_last_in_line() -> None:
    open = Connections[str](total=2, per_address=9)
    open.add("first", "a")
    open.work("first")
    open.add("second", "a")
    open.wait("first")
    assert open.add("third", "a") == "second"


def test_an_address_over_its_limit_makes_room_among_its_own() -> None:
    open = Connections[str](total=9, per_address=2)
    open.add("other", "b")
    open.add("first", "a")
    open.add("second", "a")
    assert open.add("third", "a") == "first"


def test_a_shared_address_has_no_limit_of_its_own() -> None:
    open = Connections[str](total=9, per_address=1, is_shared=lambda address: address == "proxy")
    assert [open.add(str(number), "proxy") for number in range(9)] == [None] * 9
    assert open.add("one more", "elsewhere") == "0"


def test_a_closed_connection_is_forgotten() -> None:
    open = Connections[str](total=1, per_address=1)
    for number in range(3):
        assert open.add(str(number), "a") is None
        open.remove(str(number))
        open.remove(str(number))
        open.wait(str(number))
    assert len(open) == 0
