from __future__ import annotations

from uuid import UUID

import pytest

from recollect.core.errors import AmbiguousId, InvalidInput, NotFound
from recollect.core.memory.memory import EVERYWHERE, Draft, Memory, Scope
from recollect.usecases.context import Context
from recollect.usecases.memory import find
from recollect.usecases.memory.change import forget
from recollect.usecases.memory.remember import remember

pytestmark = pytest.mark.anyio

ONE = UUID("019a8f4e-2b7c-7000-8000-000000000001")
TWIN = UUID("019a8f4e-2b7c-7000-8000-000000000002")
OTHER = UUID("019b0000-0000-7000-8000-000000000003")


async def store(context: Context, id: UUID, owner: str = "me", **fields: str) -> Memory:
    return await remember(context, owner, Draft(f"memory {id.int % 16}", id=id, **fields))  # type: ignore[arg-type]  # mypy takes a keyword for any field


async def test_an_id_or_any_unambiguous_prefix_finds_a_memory(context: Context) -> None:
    memory = await store(context, OTHER)
    await store(context, ONE)
    for reference in (str(OTHER), OTHER.hex, "019b", " 019B0000-0 ", str(OTHER)[:13]):
        assert await find.get(context, "me", reference) == memory


async def test_an_ambiguous_prefix_shows_what_it_fits(context: Context) -> None:
    await store(context, ONE)
    await store(context, TWIN)
    with pytest.raises(AmbiguousId) as refused:
        await find.get(context, "me", "019a8f4e-2b7c")
    assert str(ONE) in str(refused.value)
    assert str(TWIN) in str(refused.value)
    assert refused.value.remedy == "Use more digits of the id."


async def test_of_very_many_only_a_few_are_shown(context: Context) -> None:
    for number in range(20):
        await store(context, UUID(int=ONE.int + number))
    with pytest.raises(AmbiguousId) as refused:
        await find.resolve(context, "me", "019a")
    assert str(refused.value).count("019a8f4e") == 5


async def test_a_forgotten_twin_makes_no_prefix_ambiguous(context: Context) -> None:
    memory = await store(context, ONE)
    await store(context, TWIN)
    await forget(context, "me", str(TWIN))
    assert await find.get(context, "me", "019a") == memory
    with pytest.raises(AmbiguousId):
        await find.resolve(context, "me", "019a", forgotten=True)


@pytest.mark.parametrize("reference", ["019c", str(TWIN), str(ONE)])
async def test_what_is_not_there_is_not_found(context: Context, reference: str) -> None:
    """Never stored, another owner's, and forgotten: all three look alike."""
    await store(context, ONE)
    await forget(context, "me", str(ONE))
    await store(context, TWIN, owner="you")
    with pytest.raises(NotFound) as missing:
        await find.get(context, "me", reference)
    assert reference in str(missing.value)
    assert "recollect list" in missing.value.remedy


async def test_what_is_no_id_is_bad_input(context: Context) -> None:
    with pytest.raises(InvalidInput):
        await find.get(context, "me", "latest")


async def test_pages_show_everything_once_newest_first(context: Context) -> None:
    memories = [await remember(context, "me", Draft(f"number {number}")) for number in range(7)]
    await remember(context, "you", Draft("not mine"))
    shown: list[Memory] = []
    sizes: list[int] = []
    cursor: str | None = None
    while True:
        page = await find.page(context, "me", EVERYWHERE, cursor, 3)
        shown.extend(page.memories)
        sizes.append(len(page.memories))
        cursor = page.next_cursor
        if cursor is None:
            break
    assert shown == memories[::-1]
    assert sizes == [3, 3, 1]


async def test_a_page_that_just_fits_has_no_next(context: Context) -> None:
    for number in range(3):
        await remember(context, "me", Draft(f"number {number}"))
    assert (await find.page(context, "me", EVERYWHERE, None, 3)).next_cursor is None
    assert (await find.page(context, "me", EVERYWHERE, None, 2)).next_cursor is not None


async def test_what_is_written_between_pages_shifts_nothing(context: Context) -> None:
    memories = [await remember(context, "me", Draft(f"number {number}")) for number in range(4)]
    first = await find.page(context, "me", EVERYWHERE, None, 2)
    await remember(context, "me", Draft("newer than all"))
    await forget(context, "me", str(memories[3].id))
    second = await find.page(context, "me", EVERYWHERE, first.next_cursor, 2)
    assert second.memories == (memories[1], memories[0])


async def test_a_listing_stays_in_its_scope(context: Context) -> None:
    web = await store(context, ONE, project="web")
    await store(context, TWIN, project="app")
    await store(context, OTHER)
    page = await find.page(context, "me", Scope(project=" web "), None, 10)
    assert page.memories == (web,)


@pytest.mark.parametrize(
    ("scope", "cursor", "limit", "culprit"),
    [
        (EVERYWHERE, None, 0, "limit"),
        (EVERYWHERE, None, 501, "limit"),
        (EVERYWHERE, "page 2", 10, "cursor"),
        (Scope(categories=("gossip",)), None, 10, "category"),
        (Scope(project="\x00"), None, 10, "project"),
    ],
)
async def test_a_page_that_cannot_be_asked_for_is_refused(
    context: Context, scope: Scope, cursor: str | None, limit: int, culprit: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await find.page(context, "me", scope, cursor, limit)
    assert refused.value.field == culprit
