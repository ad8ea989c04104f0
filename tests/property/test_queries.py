"""No text makes a search raise, and no text reaches outside its owner and scope."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.conformance.samples import OWNER, memory
from tests.effort import scaled
from tests.property.conftest import OpenStore
from tests.strategies import MOMENT, any_text

from recollect.core.memory.memory import Memory, Scope
from recollect.core.recall.request import Candidate
from recollect.core.recall.settings import WordQuery
from recollect.core.text.analysis import find_unstorable

CONTENTS = (
    "the harbour AND the bridge",
    'NOT "quoted" OR content:harbour*',
    "100% of it_em & more | less ! <-> :*",
    "🦀 שלום مرحبا naïve ﬁne İstanbul",
    "one two three four",
)
MEMORIES = tuple(
    memory(
        number,
        CONTENTS[number % len(CONTENTS)],
        owner=("eve", OWNER, OWNER)[number % 3],
        project=(None, "alpha", "beta")[number % 4 % 3],
        session=("s1", "s2")[number % 2],
        category=("fact", "lesson")[number % 5 % 2],
        tags=("red", "dark green")[: number % 3],
        deleted_at=MOMENT if number % 11 == 0 else None,
    )
    for number in range(1, 61)
)
BY_ID = {memory.id: memory for memory in MEMORIES}

# Stored words, pieces of both query languages, and anything else.
pieces = st.sampled_from(
    (
        *("harbour", "bridge", "one", "🦀", "content:", "AND", "OR", "NOT", "NEAR(", "<->", "--"),
        *("\x00", "\ud800", *"\"'*:&|!(){}^\\%_"),
    )
)
queries = any_text | st.lists(pieces | any_text, max_size=12).map(" ".join)
# A scope is checked before it reaches a store: its names are texts that a memory could have.
names = any_text.filter(lambda text: find_unstorable(text) is None) | st.sampled_from(
    ("alpha", "beta", "s1", "s2", "red", "dark green", "", "%")
)
times = st.none() | st.integers(-5, 70).map(lambda n: MOMENT + timedelta(minutes=n))
scopes = st.builds(
    Scope,
    project=st.none() | names,
    sessions=st.lists(names, max_size=2).map(tuple),
    categories=st.lists(st.sampled_from(["fact", "lesson", "note"]), max_size=2).map(tuple),
    tags=st.lists(names, max_size=2).map(tuple),
    since=times,
    until=times,
)


@pytest.fixture(scope="module")
def filled(opened: OpenStore) -> OpenStore:
    for stored in MEMORIES:
        opened.wait(opened.store.add(stored))
    return opened


def inside(memory: Memory, owner: str, scope: Scope) -> bool:
    return memory.owner == owner and scope.covers(memory)


word_queries = st.builds(
    WordQuery,
    text=queries,
    expanded=queries,
    depth=st.integers(1, 60),
    exclude=st.frozensets(st.sampled_from(sorted(BY_ID)), max_size=5),
)


@hypothesis_settings(max_examples=scaled(150))
@given(
    owner=st.sampled_from([OWNER, "eve", "nobody"]),
    scope=st.just(Scope()) | scopes,
    query=word_queries,
)
@example(owner=OWNER, scope=Scope(), query=WordQuery("harbour", depth=60))
@example(owner=OWNER, scope=Scope(), query=WordQuery("the", expanded="and", depth=60))
@example(owner=OWNER, scope=Scope(project="%"), query=WordQuery("a" * 30_000, expanded="\x00"))
def test_search_stays_inside_the_scope(
    filled: OpenStore, owner: str, scope: Scope, query: WordQuery
) -> None:
    found: list[Candidate] = filled.wait(filled.store.search_words(owner, scope, query))
    assert len(found) <= query.depth
    assert len({candidate.id for candidate in found}) == len(found)
    for candidate in found:
        one = BY_ID[candidate.id]
        assert inside(one, owner, scope)
        assert one.id not in query.exclude
        assert (candidate.importance, candidate.created_at) == (one.importance, one.created_at)
    order = [(-candidate.score, candidate.id) for candidate in found]
    assert order == sorted(order)


@hypothesis_settings(max_examples=scaled(60))
@given(owner=st.sampled_from([OWNER, "eve", "nobody"]), scope=scopes)
def test_a_listing_is_exactly_what_the_scope_covers(
    filled: OpenStore, owner: str, scope: Scope
) -> None:
    listed = filled.wait(filled.store.page(owner, scope, None, 100))
    covered = [memory for memory in MEMORIES if inside(memory, owner, scope)]
    assert listed == sorted(
        covered, key=lambda memory: (memory.created_at, memory.id), reverse=True
    )


@hypothesis_settings(max_examples=scaled(60))
@given(scope=scopes)
def test_a_word_that_all_hold_finds_exactly_the_scope(filled: OpenStore, scope: Scope) -> None:
    categories = WordQuery("fact lesson", depth=100)
    found = filled.wait(filled.store.search_words(OWNER, scope, categories))
    covered = {memory.id for memory in MEMORIES if inside(memory, OWNER, scope)}
    assert {candidate.id for candidate in found} == covered
