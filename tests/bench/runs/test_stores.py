"""Small stores drawn from a set."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.bench.made_runs import evaluation_set, right, run

from recollect.core.errors import InvalidInput
from recollect_bench.data.datasets import Document
from recollect_bench.runs.stores import MAX_QUESTIONS, draw_sizes, draw_stores, parse_sizes

DATA = evaluation_set("facts", ["all"] * 60)


def test_a_drawn_store_holds_the_gold_of_its_questions_and_other_texts() -> None:
    drawn = draw_stores(DATA, 20, 10, seed=1)
    assert drawn is not None
    for store in drawn.stores:
        stored = {document.id for document in store.documents}
        gold = {id for labels in store.gold.values() for id in labels}
        assert len(stored) == 20
        assert gold < stored
        assert len(gold) <= 10
        assert store.gold.keys() == {question.id for question in store.questions}
    asked = [question.id for store in drawn.stores for question in store.questions]
    assert sorted(asked) == sorted(question.id for question in DATA.questions)


def test_the_same_seed_draws_the_same_stores() -> None:
    first, again, other = (draw_stores(DATA, 20, 10, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_no_more_stores_are_drawn_than_asked_for() -> None:
    drawn = draw_stores(DATA, 20, 2, seed=1)
    assert drawn is not None
    assert len(drawn.stores) == 2
    assert drawn.data.name == "facts@20"
    assert drawn.data.documents == DATA.documents
    assert len(drawn.data.questions) == sum(len(store.questions) for store in drawn.stores)


def test_a_large_store_is_not_asked_everything() -> None:
    many = evaluation_set("many", ["all"] * 200)
    drawn = draw_stores(many, 190, 10, seed=1)
    assert drawn is not None
    assert {len(store.questions) for store in drawn.stores} == {MAX_QUESTIONS}


def test_a_store_lies_within_one_scope() -> None:
    scoped = replace(
        DATA,
        documents=tuple(
            Document(each.id, each.text, scope="ab"[number % 2])
            for number, each in enumerate(DATA.documents)
        ),
        questions=tuple(
            replace(each, scope="ab"[number % 2]) for number, each in enumerate(DATA.questions)
        ),
    )
    drawn = draw_stores(scoped, 20, 10, seed=1)
    assert drawn is not None
    for store in drawn.stores:
        scopes = {document.scope for document in store.documents}
        assert scopes == {question.scope for question in store.questions}
        assert len(scopes) == 1
    assert draw_stores(scoped, 31, 10, seed=1) is None


def test_runs_on_drawn_stores_are_joined() -> None:
    drawn = draw_stores(DATA, 20, 10, seed=1)
    assert drawn is not None
    runs = [run(store, "default", right(DATA, 60), 1.0) for store in drawn.stores]
    (joined,) = drawn.join([*runs, run(DATA, "default", {})])
    assert joined.set_name == "facts@20"
    assert joined.answers.keys() == drawn.data.gold.keys()
    assert joined.took_ms == (1.0,) * len(drawn.stores)


def test_a_set_that_is_too_small_for_a_size_is_left_out() -> None:
    drawn = draw_sizes([DATA], [20, 1000], 10, seed=1)
    assert [each.data.name for each in drawn] == ["facts@20"]
    with pytest.raises(InvalidInput, match="no set has enough texts for a store of 1000"):
        draw_sizes([DATA], [1000], 10, seed=1)


@pytest.mark.parametrize("text", ["", "ten", "1", "30,,100", "-5"])
def test_sizes_that_make_no_store_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not a list of store sizes"):
        parse_sizes(text)


def test_sizes_are_sorted() -> None:
    assert parse_sizes("100,30,100") == [30, 100]
