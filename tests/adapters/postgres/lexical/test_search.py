"""The lexical leg on a Postgres with so many memories that it must not look at all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from statistics import mean
from uuid import UUID

import psycopg
import pytest
from psycopg import AsyncConnection
from tests.conformance.samples import memory
from tests.conftest import Cluster

from recollect.adapters.postgres.lexical import search as lexical
from recollect.adapters.postgres.lexical.plan import MAX_WORDS, SMALL_SCOPE, Word, any_of
from recollect.adapters.postgres.pipeline import execute_many
from recollect.adapters.postgres.rows import within
from recollect.adapters.postgres.search_vector import as_vector, quote
from recollect.adapters.postgres.store import PostgresStore
from recollect.core.memory.memory import EVERYWHERE, Memory, Scope
from recollect.core.recall.settings import WordQuery
from recollect.core.text.terms import analyze_fields
from recollect_bench.speed.corpus import KINDS, OWNER, Corpus

pytestmark = pytest.mark.anyio

ROWS = 5_000
QUERIES = 15
TOP = 10
CORPUS = Corpus.seeded(3)
COMMON = CORPUS.words[0]  # in nearly every memory
OTHER_OWNER = "somebody else"
FIRST = next(CORPUS.memories(0, 1))
# A project that is read completely, and the younger three quarters of the store, which are not.
SMALL = Scope(project="medium")
LARGE = Scope(since=FIRST.created_at + timedelta(seconds=ROWS // 4))
bounded_and_exhaustive = pytest.mark.parametrize("is_exhaustive", [False, True])
on_both_paths = pytest.mark.parametrize("scope", [SMALL, LARGE], ids=["small", "large"])

# Words that the corpus does not contain, in memories of the small and of the large scope.
PLANTED_WORD = "lighthouse"
PATH = "example.com/it's"


def _extra() -> list[Memory]:
    """Return what single tests look for in addition to the corpus, in both scopes."""
    at = FIRST.created_at + timedelta(days=1)
    contents = {
        1: f"{PLANTED_WORD} {COMMON}",
        2: f"{PLANTED_WORD} {COMMON} {COMMON} {COMMON} {' '.join(CORPUS.words[1000:1040])}",
        3: f"see {PATH} about the {COMMON}",
    }
    kept = replace(memory(0), owner=OWNER, created_at=at, updated_at=at)
    mine = [
        replace(kept, id=UUID(int=number + offset), content=content, project=project)
        for number, content in contents.items()
        for offset, project in ((0, "medium"), (10, None))
    ]
    forgotten = replace(mine[0], id=UUID(int=90), deleted_at=at)
    early = replace(mine[1], id=UUID(int=91), created_at=FIRST.created_at)
    others = [
        replace(memory, id=UUID(int=memory.id.int + 100), owner=OTHER_OWNER) for memory in mine
    ]
    return [*mine, forgotten, early, *others]


@pytest.fixture(scope="module")
async def url(cluster: Cluster) -> AsyncIterator[str]:
    name = "postgres_words"
    yield cluster.create(name)
    cluster.drop(name)


@pytest.fixture(scope="module")
async def store(url: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(url) as opened:
        await opened.add_many(CORPUS.memories(0, ROWS))
        await opened.add_many(_extra())
        await opened.maintain()
        yield opened


async def find(
    store: PostgresStore,
    text: str,
    scope: Scope = EVERYWHERE,
    *,
    is_exhaustive: bool = False,
    depth: int = TOP,
    owner: str = OWNER,
) -> list[UUID]:
    query = WordQuery(text, depth=depth, is_exhaustive=is_exhaustive)
    return [hit.id for hit in await store.search_words(owner, scope, query)]


async def _scope_rows(store: PostgresStore, scope: Scope) -> int:
    condition, params = within(OWNER, scope)
    async with store.pool.transaction(OWNER) as connection:
        (explained,) = await execute_many(connection, params, lexical.scope_size(condition))
        return lexical.rows_of(explained)


async def test_the_scopes_of_these_tests_take_both_paths(store: PostgresStore) -> None:
    assert await _scope_rows(store, SMALL) <= SMALL_SCOPE
    assert await _scope_rows(store, LARGE) > SMALL_SCOPE
    assert await _scope_rows(store, EVERYWHERE) > SMALL_SCOPE


@pytest.mark.parametrize("kind", KINDS)
async def test_the_bounded_query_finds_what_the_unbounded_one_finds(
    store: PostgresStore, kind: str
) -> None:
    shares: list[float] = []
    for question in CORPUS.queries(kind, QUERIES, ROWS):
        wanted = set(await find(store, question, is_exhaustive=True))
        got = set(await find(store, question))
        assert wanted
        shares.append(len(wanted & got) / len(wanted))
    assert mean(shares) >= 0.95


async def test_a_score_is_divided_by_the_fourth_root_of_how_many_words_there_are(
    store: PostgresStore, url: str
) -> None:
    """Each counts as often as it occurs: in some of these memories a word occurs three times."""
    scores = await store.search_words(OWNER, EVERYWHERE, WordQuery(PLANTED_WORD, depth=TOP))
    with psycopg.connect(url) as connection:
        ranks: dict[UUID, float] = dict(
            connection.execute(
                """
                select id, ts_rank(search_vector, %(word)s::tsquery) / (
                    select sum(cardinality(positions)) from unnest(search_vector)
                ) ^ 0.25
                from memories where id = any(%(ids)s)
                """,
                {"word": PLANTED_WORD, "ids": [hit.id for hit in scores]},
            ).fetchall()
        )
    assert len(ranks) > 2
    weights = {round(hit.score / ranks[hit.id], 5) for hit in scores}
    assert len(weights) == 1, "the weight of the word, the same for every memory"


async def test_the_bounded_query_looks_at_fewer_rows(store: PostgresStore) -> None:
    """Two words in more than 2,000 rows each: only rows with both are looked at."""
    text = f"{CORPUS.words[1]} {CORPUS.words[2]}"
    bounded = await find(store, text, depth=2 * ROWS)
    unbounded = await find(store, text, is_exhaustive=True, depth=2 * ROWS)
    assert len(unbounded) > SMALL_SCOPE
    assert 0 < len(bounded) < len(unbounded)


@on_both_paths
async def test_a_rare_word_beats_a_common_one(store: PostgresStore, scope: Scope) -> None:
    common = " ".join([COMMON] * 3)
    hits = await find(store, f"{common} {PLANTED_WORD}", scope)
    assert set(hits[:2]) <= {UUID(int=n) for n in (1, 2, 11, 12)}
    assert hits[0].int in (1, 11)  # the shorter of the two


@on_both_paths
@bounded_and_exhaustive
async def test_results_stay_inside_scope_and_owner(
    store: PostgresStore, scope: Scope, *, is_exhaustive: bool
) -> None:
    inside = {1, 2} if scope == SMALL else {1, 2, 11, 12}
    hits = await find(store, PLANTED_WORD, scope, is_exhaustive=is_exhaustive, depth=50)
    assert {id.int for id in hits} == inside
    hits = await find(
        store, PLANTED_WORD, scope, is_exhaustive=is_exhaustive, depth=50, owner=OTHER_OWNER
    )
    assert {id.int for id in hits} == {number + 100 for number in inside}
    assert await find(store, PLANTED_WORD, scope, is_exhaustive=is_exhaustive, owner="nobody") == []


@on_both_paths
async def test_what_is_excluded_costs_no_place(store: PostgresStore, scope: Scope) -> None:
    text = " ".join(CORPUS.words[20:23])
    (best, *others) = await find(store, text, scope)
    query = WordQuery(text, depth=TOP, exclude=frozenset({best}))
    hits = [hit.id for hit in await store.search_words(OWNER, scope, query)]
    assert hits[: TOP - 1] == others
    assert len(hits) == TOP


@on_both_paths
async def test_the_floor_drops_what_only_shares_a_common_word(
    store: PostgresStore, scope: Scope
) -> None:
    """By weight the common word counts less than a twentieth of the five rare ones."""
    rare = CORPUS.words[1000:1040]
    hits = await store.search_words(
        OWNER, scope, WordQuery(f"{COMMON} {PLANTED_WORD} {' '.join(rare)}", depth=2 * ROWS)
    )
    best = hits[0].score
    assert {hits[0].id.int, hits[1].id.int} & {2, 12}
    assert all(hit.score >= lexical.MIN_SHARE_OF_BEST * best for hit in hits)
    asked = {PLANTED_WORD, *rare}
    kept = await store.get_many(OWNER, [hit.id for hit in hits])
    assert all(asked & set(each.content.split()) for each in kept.values())


@on_both_paths
@bounded_and_exhaustive
async def test_a_word_with_quotes_in_it_is_found(
    store: PostgresStore, scope: Scope, *, is_exhaustive: bool
) -> None:
    hits = await find(store, f"where is {PATH}", scope, is_exhaustive=is_exhaustive)
    assert {id.int for id in hits} >= {3}
    assert hits[0].int in (3, 13)


@on_both_paths
@bounded_and_exhaustive
async def test_a_page_of_words_is_one_bounded_question(
    store: PostgresStore, scope: Scope, *, is_exhaustive: bool
) -> None:
    page = " ".join([*CORPUS.words[: 4 * MAX_WORDS], "a'b\\c & | ! ( <-> :*", PLANTED_WORD])
    hits = await find(store, page, scope, is_exhaustive=is_exhaustive)
    assert len(hits) == TOP


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"{n:x}" for n in range(300_000)),
        "".join(chr(0x4E00 + n * n % 20_000) for n in range(300_000)),
        " ".join(f"word{n % 3_000}" for n in range(900_000)),
    ],
    ids=["words", "pairs", "positions"],
)
async def test_postgres_keeps_the_terms_of_a_text_of_any_size(url: str, text: str) -> None:
    terms = analyze_fields(text, (), ("tagged",), "fact")
    with psycopg.connect(url) as connection:
        row = connection.execute("select length(%s::tsvector)", [as_vector(terms)]).fetchone()
    assert row == (len({form for field in terms.fields for forms in field for form in forms}),)


async def test_any_lexeme_can_be_asked_of_postgres(url: str) -> None:
    """As Postgres reads it: the quoted text matches the vector of that word and no other."""
    hostile = ["'", "\\", "\\'", "a' | 'b", " ", "a b", "!", "&", ":*", "<->", "'a':1A", "ü", "🎉"]
    with psycopg.connect(url) as connection:
        for lexeme in hostile:
            row = connection.execute(
                "select array_to_tsvector(%(one)s) @@ %(query)s::tsquery,"
                " array_to_tsvector(%(other)s) @@ %(query)s::tsquery",
                {"one": [lexeme], "other": [f"{lexeme}x"], "query": quote(lexeme)},
            ).fetchone()
            assert row == (True, False), lexeme
        row = connection.execute(
            "select array_to_tsvector(%(none)s) @@ %(any)s::tsquery,"
            " array_to_tsvector(%(some)s) @@ %(any)s::tsquery",
            {
                "none": ["other"],
                "some": hostile[-1:],
                "any": any_of([Word((lexeme,), (1,)) for lexeme in hostile]),
            },
        ).fetchone()
        assert row == (False, True)


async def test_compiling_is_off_for_the_search_alone(store: PostgresStore, url: str) -> None:
    condition, params = within(OWNER, EVERYWHERE)
    async with await AsyncConnection.connect(url) as connection:
        await connection.execute("set jit = on")
        await connection.execute("select set_config('recollect.owner', %s, false)", (OWNER,))
        await connection.commit()
        wanted = lexical.LexicalSearch(condition, params, depth=TOP)
        hits = await lexical.search(connection, PLANTED_WORD, wanted)
        assert hits
        assert await _jit(connection) == "off"
        await connection.commit()
        assert await _jit(connection) == "on"


async def _jit(connection: AsyncConnection) -> str:
    row = await (await connection.execute("show jit")).fetchone()
    assert row is not None
    return str(row[0])


async def test_searches_side_by_side_do_not_disturb_each_other(store: PostgresStore) -> None:
    questions = CORPUS.queries("7 words", 8, ROWS)
    alone = [await find(store, question) for question in questions]
    assert await asyncio.gather(*(find(store, question) for question in questions)) == alone


async def test_evidence_is_the_share_of_the_query_that_a_memory_holds(
    store: PostgresStore,
) -> None:
    everything = await store.search_words(OWNER, SMALL, WordQuery(f"{PLANTED_WORD} {COMMON}"))
    assert everything[0].evidence == pytest.approx(1.0)
    part = await store.search_words(OWNER, SMALL, WordQuery(f"{PLANTED_WORD} xylophone"))
    assert 0.3 < part[0].evidence < 0.7  # both words are rare
    little = await store.search_words(OWNER, SMALL, WordQuery(f"xylophone {COMMON}"))
    assert 0 < little[0].evidence < 0.2  # the word that it holds is in nearly every memory


async def test_expanding_a_query_takes_no_evidence_away(store: PostgresStore) -> None:
    plain, expanded = [
        (await store.search_words(OWNER, SMALL, WordQuery(PLANTED_WORD, expanded=words)))[0]
        for words in ("", "beacon pharos xylophone")
    ]
    assert (plain.id, plain.evidence) == (expanded.id, expanded.evidence)
