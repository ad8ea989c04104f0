"""The package's own set: always the same, and with answers that are known by construction."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from recollect.core.memory.memory import Draft, Scope
from recollect.core.privacy.secrets.detect import looks_sensitive
from recollect.core.recall.request import RecallRequest
from recollect.settings import load
from recollect.wiring import open_service
from recollect_bench.data.convert import write_set
from recollect_bench.data.datasets import EvaluationSet, read_set
from recollect_bench.data.strata import rule_strata, stems
from recollect_bench.data.synthetic import synthetic, synthetic_set


@pytest.fixture(scope="module")
def made() -> EvaluationSet:
    return synthetic_set()


def test_the_same_seed_makes_the_same_set_everywhere(made: EvaluationSet) -> None:
    assert synthetic_set() == made
    assert synthetic_set(2).digest != made.digest
    # Not only in this process: figures are compared between machines.
    assert made.digest == "59e4b72d0264fba716c639704273dfa75f36aee4db2e45d97e1154346db730e0"


def test_synthetic_set_is_small_and_has_every_stratum(made: EvaluationSet) -> None:
    assert len(made.documents) == 216
    strata = Counter(question.stratum for question in made.questions)
    assert strata == {"exact": 38, "paraphrase": 42, "multi-hop": 20}
    assert {question.scope for question in made.questions} > {None, "atlas"}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_question_is_of_its_stratum_by_the_rule_too(seed: int) -> None:
    each = synthetic_set(seed)
    assert rule_strata(each) == {question.id: question.stratum for question in each.questions}


def test_a_paraphrase_shares_no_word_with_its_memory(made: EvaluationSet) -> None:
    contents = {document.id: document.content for document in made.documents}
    for question in made.questions:
        if question.stratum == "paraphrase":
            for gold in made.gold[question.id]:
                assert not stems(question.text) & stems(contents[gold]), question.text


def test_gold_lies_in_the_scope_of_its_question(made: EvaluationSet) -> None:
    scopes = {document.id: document.scope for document in made.documents}
    for question in made.questions:
        assert question.scope in (None, *(scopes[gold] for gold in made.gold[question.id]))


def test_memories_differ_and_none_is_kept_from_the_model(made: EvaluationSet) -> None:
    contents = [document.content for document in made.documents]
    assert len(set(contents)) == len(contents)
    assert not [content for content in contents if looks_sensitive(content)]


def test_written_to_files_it_is_read_back_the_same(made: EvaluationSet, tmp_path: Path) -> None:
    write_set(synthetic(1), tmp_path / made.name)
    assert read_set(tmp_path / made.name) == made


@pytest.mark.anyio
async def test_words_answer_what_is_exact_and_no_paraphrase(
    made: EvaluationSet, tmp_path: Path
) -> None:
    found = Counter[str]()
    async with open_service(load(home=tmp_path, database_url=None, api_url=None)) as recollect:
        kept = {
            (
                await recollect.remember(Draft(document.content, project=document.scope))
            ).id: document.id
            for document in made.documents
        }
        for question in made.questions:
            request = RecallRequest(question.text, limit=10, scope=Scope(project=question.scope))
            hits = (await recollect.recall(request)).hits
            first = [
                kept[hit.memory.id] for hit in hits[: 1 if question.stratum == "exact" else 10]
            ]
            found[question.stratum] += any(id in made.gold[question.id] for id in first)
    assert found == {"exact": 38, "paraphrase": 0, "multi-hop": 20}
