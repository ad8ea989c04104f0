"""What a codec declares: fields in another place, under other names, left out, sent later."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

import pytest
from pydantic import ValidationError

from recollect.wire.codec import codec, listing
from recollect.wire.plain import to_plain

NOW = datetime(2026, 3, 6, 9, 30, tzinfo=UTC)
ID = UUID(int=7)


class Leg(NamedTuple):
    name: str
    places: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Terms:
    at: datetime
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Trip:
    id: UUID
    terms: Terms
    legs: tuple[Leg, ...]
    is_over: bool = False
    secret: bytes = b""


LEG = codec(Leg, "LegOut", "", later=("places",))
TRIP = codec(
    Trip,
    "TripOut",
    "",
    flat=("terms",),
    without={"secret": b"?"},
    over={"path": "is_over", "default": False},
)
TRIPS = listing(TRIP, "trips", "TripsOut", "")
VALUE = Trip(ID, Terms(NOW), (Leg("out", (1, 2)), Leg("back")), is_over=True, secret=b"?")
JSON = {
    "id": str(ID),
    "at": "2026-03-06T09:30:00Z",
    "by": None,
    "legs": [{"name": "out", "places": [1, 2]}, {"name": "back", "places": []}],
    "over": True,
}


def test_a_value_and_its_json_have_the_same_fields_except_for_what_is_declared() -> None:
    assert TRIP.encode(VALUE) == JSON
    assert TRIP.decode(json.dumps(JSON).encode()) == VALUE


def test_a_list_is_inside_of_an_object() -> None:
    assert TRIPS.encode([VALUE]) == {"trips": [JSON]}
    assert TRIPS.decode(json.dumps({"trips": [JSON]}).encode()) == [VALUE]
    with pytest.raises(ValidationError):
        TRIPS.decode(json.dumps([JSON]).encode())


def test_reading_skips_what_is_newer_and_supplies_what_is_older() -> None:
    older = {"name": "out", "altitude": 3}
    assert LEG.decode(json.dumps(older).encode()) == Leg("out")
    with pytest.raises(ValidationError):
        LEG.decode(b'{"places": []}')


def test_a_request_leaves_out_what_has_its_default() -> None:
    assert to_plain(Trip(ID, Terms(NOW), ())) == {
        "id": str(ID),
        "terms": {"at": "2026-03-06T09:30:00+00:00"},
        "legs": [],
    }
