"""A text in any language is found by its own words, in every store alike."""

from __future__ import annotations

import pytest
from tests.conformance.samples import OWNER, fill, fill_background, ids, memory, search

from recollect.core.memory.memory import EVERYWHERE
from recollect.core.recall.settings import WordQuery
from recollect.ports.stores import MemoryStore

pytestmark = pytest.mark.anyio

TEXTS = (
    "Deployments go out with make release",
    "毎朝緑茶を飲む。",
    "他每天早上喝红茶，不喝咖啡。",
    "서울에서 물을 많이 마신다",
    "ฉันพูดภาษาไทยได้",
    "Die Häuser in der Straße sind sehr alt",
    "La réunion est à neuf heures",
    "El servidor está en Madrid",
    "Я читаю интересные книги",
    "قرأت الكتاب في البيت",
    "לדוד יש בית גדול",
    "लड़के स्कूल में पढ़ते हैं",
    "Ông Nguyễn là người Huế",
    "Η οδός είναι μακριά",
    "see src/core/order_service.py and OrderService in v2.3.1, says bob@example.com",
)
ASKED = (
    ("deploy", 1),
    ("緑茶", 2),
    ("红茶", 3),
    ("물", 4),
    ("ภาษาไทย", 5),
    ("Haus", 6),
    ("strasse", 6),
    ("reunions", 7),
    ("servidores", 8),
    ("книга", 9),
    ("كتاب", 10),
    ("הבית", 11),
    ("लड़का", 12),
    ("nguyen", 13),
    ("ΟΔΟΣ", 14),
    ("order service", 15),
    ("order_service.py", 15),
    ("v2.3.1", 15),
    ("bob@example.com", 15),
    ("Wo ist das Haus?", 6),
    ("Где книга?", 9),
)


@pytest.mark.parametrize(("query", "number"), ASKED)
async def test_a_memory_is_found_by_its_own_words(
    store: MemoryStore, query: str, number: int
) -> None:
    await fill_background(store)
    await fill(store, *(memory(place, text) for place, text in enumerate(TEXTS, 1)))
    assert (await search(store, query))[:1] == ids(number)


async def test_a_stem_does_not_count_twice(store: MemoryStore) -> None:
    """A memory with the word as asked holds its stem as well; two words still count more."""
    await fill_background(store)
    await fill(store, memory(1, "the deployments in autumn"), memory(2, "deploying the lighthouse"))
    assert await search(store, "deployments lighthouse") == ids(2, 1)


@pytest.mark.parametrize("word", ["deployments", "deploying", "Deploy"])
async def test_a_word_counts_once_as_evidence_in_any_of_its_forms(
    store: MemoryStore, word: str
) -> None:
    await fill_background(store)
    await fill(store, memory(1, "the deployments, deploying and deployed"))
    (whole,) = await store.search_words(OWNER, EVERYWHERE, WordQuery(word))
    assert whole.evidence == pytest.approx(1.0)
    half, *_ = await store.search_words(OWNER, EVERYWHERE, WordQuery(f"{word} lighthouse"))
    assert half.evidence == pytest.approx(0.5, abs=0.1)
    expanded = WordQuery(f"{word} lighthouse", expanded="unheard-of")
    again, *_ = await store.search_words(OWNER, EVERYWHERE, expanded)
    assert again.evidence == pytest.approx(half.evidence)


HOSTILE = ("x" * 100_000, "\u0301\u0316" * 10_000, "a\u200b" * 10_000, "\u202eabc\u202c " * 1_000)


@pytest.mark.parametrize("text", HOSTILE, ids=["one word", "marks", "zero width", "direction"])
async def test_hostile_text_is_stored_and_searched(store: MemoryStore, text: str) -> None:
    await fill(store, memory(1, f"harbour {text}"))
    assert await search(store, "harbour") == ids(1)
    await search(store, text)


async def test_more_different_terms_than_an_index_keeps_are_no_error(store: MemoryStore) -> None:
    text = "".join(chr(0x4E00 + (n * 7919) % 20_000) for n in range(150_000))
    await fill(store, memory(1, text))
    assert await search(store, text[:2]) == ids(1)
