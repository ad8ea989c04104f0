"""The external BM25: it matches words, stays in scopes, and never fails on a question."""

from __future__ import annotations

import sys

import pytest

from recollect.core.errors import RecollectError
from recollect_bench.data.datasets import Document, EvaluationSet, Question
from recollect_bench.runs.configs import NAMED
from recollect_bench.runs.run import Run
from recollect_bench.runs.yardstick import run_yardstick

DOCUMENTS = (
    Document("tea", "Green tea should be steeped for two minutes.", scope="kitchen"),
    Document("kettle", "The kettle boils water for tea and coffee.", title="Kettle"),
    Document("rust", "Rust on the garden gate needs sanding.", scope="garden"),
    Document("gate", "The gate of the garden squeaks; the gate needs oil.", scope="garden"),
)


def _run(*questions: Question) -> Run:
    data = EvaluationSet(
        "set", DOCUMENTS, questions, {question.id: {"tea": 1} for question in questions}, ""
    )
    return run_yardstick(data, NAMED["bm25s"], lambda *_: None, timed=1)


@pytest.mark.parametrize(
    ("text", "scope", "expected"),
    [
        pytest.param("squeaks", None, ("gate",), id="the one that has the word"),
        pytest.param("garden gate sanding", None, ("rust", "gate"), id="more words are better"),
        pytest.param("gate", "garden", ("gate", "rust"), id="a repeated word counts more"),
        pytest.param("tea", "kitchen", ("tea",), id="inside a scope"),
        pytest.param("tea", "garden", (), id="not outside of it"),
        pytest.param("tea", "nowhere", (), id="a scope that holds nothing"),
        pytest.param("the of and", None, (), id="stop words only"),
        pytest.param("zebra", None, (), id="a word in no document"),
        pytest.param("?! …", None, (), id="no word at all"),
        pytest.param("kettle", None, ("kettle",), id="a title"),
    ],
)
def test_yardstick_finds_documents_by_words(
    text: str, scope: str | None, expected: tuple[str, ...]
) -> None:
    found = _run(Question("q", text, "", scope))
    assert found.answers["q"].ranking == expected
    assert found.answers["q"].legs == {"lexical": expected}
    assert len(found.took_ms) == 1


def test_missing_bench_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(RecollectError, match="bm25s") as caught:
        _run(Question("q", "tea", ""))
    assert "make install EXTRAS=bench" in caught.value.remedy
