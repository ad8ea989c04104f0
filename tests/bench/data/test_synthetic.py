"""The synthetic set: always the same, with answers known by construction."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from recollect.core.memory.memory import Draft, Scope
from recollect.core.privacy.secrets.detect import looks_sensitive
from recollect.core.recall.request import RecallRequest
from recollect.settings import load
from recollect.wiring.local import open_service
from recollect_bench.data.convert import write_set
from recollect_bench.data.datasets import EvaluationSet, read_set
from recollect_bench.data.strata import rule_strata, stems
from recollect_bench.data.synthetic import synthetic, synthetic_set


@pytest.fixture(scope="module")
def data() -> EvaluationSet:
    return synthetic_set()


def test_the_same_seed_makes_the_same_set_everywhere(data: EvaluationSet) -> None:
    assert synthetic_set() == data
    assert synthetic_set(2).digest != data.digest
    # Not only in this process: figures are compared between machines.
    assert data.digest == "59e4b72d0264fba716c639704273dfa75f36aee4db2e45d97e1154346db730e0"


def test_synthetic_set_is_small_and_has_every_stratum(data: EvaluationSet) -> None:
    assert len(data.documents) == 216
    strata = Counter(question.stratum for question in data.questions)
    assert strata == {"exact": 38, "paraphrase": 42, "multi-hop": 20}
    assert {question.scope for question in data.questions} > {None, "atlas"}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_question_is_of_its_stratum_by_the_rule_too(seed: int) -> None:
    each = synthetic_set(seed)
    assert rule_strata(each) == {question.id: question.stratum for question in each.questions}


def test_a_paraphrase_shares_no_word_with_its_memory(data: EvaluationSet) -> None:
    contents = {document.id: document.content for document in data.documents}
    for question in data.questions:
        if question.stratum == "paraphrase":
            for gold in data.gold[question.id]:
                assert not stems(question.text) & stems(contents[gold]), question.text


def test_gold_lies_in_the_scope_of_its_question(data: EvaluationSet) -> None:
    scopes = {document.id: document.scope for document in data.documents}
    for question in data.questions:
        assert question.scope in (None, *(scopes[gold] for gold in data.gold[question.id]))


def test_memories_differ_and_none_looks_sensitive(data: EvaluationSet) -> None:
    contents = [document.content for document in data.documents]
    assert len(set(contents)) == len(contents)
    assert not [content for content in contents if looks_sensitive(content)]


def test_written_to_files_it_is_read_back_the_same(data: EvaluationSet, tmp_path: Path) -> None:
    write_set(synthetic(1), tmp_path / data.name)
    assert read_set(tmp_path / data.name) == data


@pytest.mark.anyio
async def test_words_answer_what_is_exact_and_no_paraphrase(
    data: EvaluationSet, tmp_path: Path
) -> None:
    found = Counter[str]()
    async with open_service(load(home=tmp_path, database_url=None, api_url=None)) as recollect:
        stored = {
            (
                await recollect.remember(Draft(document.content, project=document.scope))
            ).id: document.id
            for document in data.documents
        }
        for question in data.questions:
            request = RecallRequest(question.text, limit=10, scope=Scope(project=question.scope))
            hits = (await recollect.recall(request)).hits
            first = [
                stored[hit.memory.id] for hit in hits[: 1 if question.stratum == "exact" else 10]
            ]
            found[question.stratum] += any(id in data.gold[question.id] for id in first)
    assert found == {"exact": 38, "paraphrase": 0, "multi-hop": 20}
