"""Ids that any writer can create, and the prefixes that people type."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from uuid import RFC_4122, UUID, uuid4

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.strategies import MOMENT, any_text, moments

from recollect.core.errors import InvalidInput
from recollect.core.memory.ids import IdPart, check_uuid7, short, short_ids, uuid7

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ten_bytes = st.binary(min_size=10, max_size=10)
WHOLE = "019a8f4e-2b7c-7d11-8a3f-0123456789ab"


def test_the_example_of_the_standard() -> None:
    """RFC 9562, appendix A.6: 2022-02-22 14:22:22 in New York, with its random bits."""
    moment = datetime(2022, 2, 22, 14, 22, 22, tzinfo=timezone(timedelta(hours=-5)))
    rand_a, rand_b = 0xCC3, 0x18C4DC0C0C07398F
    entropy = ((rand_a << 68) | rand_b).to_bytes(10, "big")
    assert uuid7(moment, entropy) == UUID("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")


@given(moments, ten_bytes)
def test_version_and_variant_are_the_standards(now: datetime, entropy: bytes) -> None:
    id = uuid7(now, entropy)
    assert (id.version, id.variant) == (7, RFC_4122)


@given(st.integers(0, 2**43), st.integers(0, 999), ten_bytes)
@example(4318274125372, 0, bytes(10))  # floating point puts it into the millisecond before
def test_it_begins_with_its_millisecond(milliseconds: int, more: int, entropy: bytes) -> None:
    now = EPOCH + timedelta(milliseconds=milliseconds, microseconds=more)
    assert uuid7(now, entropy).int >> 80 == milliseconds


@given(moments, moments, ten_bytes, ten_bytes)
def test_ids_sort_by_age(one: datetime, other: datetime, first: bytes, second: bytes) -> None:
    earlier, later = sorted((one, other))
    if later - earlier >= timedelta(milliseconds=1):
        assert uuid7(earlier, first) < uuid7(later, second)


@given(ten_bytes, ten_bytes)
def test_ids_of_one_moment_differ_by_74_random_bits(first: bytes, second: bytes) -> None:
    """Twelve and 62 bits of the 80 given are used; the six between them are not."""

    def extract_bits(entropy: bytes) -> tuple[int, int]:
        bits = int.from_bytes(entropy, "big")
        return bits >> 68, bits & ((1 << 62) - 1)

    same = uuid7(MOMENT, first) == uuid7(MOMENT, second)
    assert same == (extract_bits(first) == extract_bits(second))


def test_people_see_the_end_which_is_random() -> None:
    assert short(UUID(WHOLE)) == WHOLE[-8:]


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("019a", "019a0000-0000-0000-0000-000000000000", "019affff-ffff-ffff-ffff-ffffffffffff"),
        (
            " 019A8F4E-2b7 ",
            "019a8f4e-2b70-0000-0000-000000000000",
            "019a8f4e-2b7f-ffff-ffff-ffffffffffff",
        ),
        (WHOLE, WHOLE, WHOLE),
        (WHOLE.replace("-", ""), WHOLE, WHOLE),
    ],
)
def test_a_prefix_is_a_closed_range(text: str, low: str, high: str) -> None:
    prefix = IdPart.parse(text)
    assert (prefix.low, prefix.high) == (UUID(low), UUID(high))


@pytest.mark.parametrize("text", ["", "019", "   ", "019g", WHOLE + "0", "latest", "٠١٢٣"])
def test_what_is_no_id_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        IdPart.parse(text)
    assert refused.value.field == "id"
    assert "recollect list" in refused.value.remedy


@given(any_text)
def test_any_text_is_a_prefix_or_refused(text: str) -> None:
    digits = text.strip().lower().replace("-", "")
    try:
        prefix = IdPart.parse(text)
    except InvalidInput:
        assert not re.fullmatch("[0-9a-f]{4,32}", digits)
    else:
        assert prefix.low.hex.startswith(digits)
        assert prefix.high.hex.startswith(digits)


@given(st.uuids(), st.integers(4, 36))
def test_every_beginning_of_an_id_covers_it(id: UUID, length: int) -> None:
    prefix = IdPart.parse(str(id)[:length])
    assert prefix.low <= id <= prefix.high


@pytest.mark.parametrize("id", [UUID(int=0), uuid4(), UUID(int=(1 << 128) - 1)])
def test_only_ids_that_sort_by_age_are_accepted(id: UUID) -> None:
    with pytest.raises(InvalidInput, match="not a UUIDv7"):
        check_uuid7(id)
    check_uuid7(uuid7(datetime.now(UTC), bytes(10)))


def test_short_ids_are_as_short_as_the_store_allows() -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    one, two = (uuid7(now, bytes([7] * 8 + [end, 7])) for end in (1, 2))
    other = uuid7(now, bytes([7] * 7 + [3, 1, 7]))
    assert short_ids([]) == {}
    assert short_ids([one, two]) == {one: str(one)[-4:], two: str(two)[-4:]}
    # The other memory of the store ends in the same four characters.
    assert short_ids([one, two], [one, other]) == {one: str(one)[-5:], two: str(two)[-5:]}
    alike = [uuid7(now + timedelta(seconds=after), bytes([7] * 10)) for after in range(2)]
    assert short_ids(alike) == {id: str(id) for id in alike}


def test_an_id_is_meant_by_its_end_or_else_by_its_beginning() -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    ids = [uuid7(now + timedelta(hours=hour), bytes([0] * 8 + [9, hour])) for hour in range(3)]
    assert IdPart.parse("0902").select(ids) == [ids[2]]
    assert IdPart.parse(str(ids[1])[:13]).select(ids) == [ids[1]]
    assert IdPart.parse(str(ids[1])).select(ids) == [ids[1]]
    assert IdPart.parse("fffe").select(ids) == []
    # What begins so is not meant where something ends so.
    begins_so = UUID("0902" + ids[0].hex[4:])
    assert IdPart.parse("0902").select([begins_so, ids[2]]) == [ids[2]]
