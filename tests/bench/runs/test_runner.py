"""What configurations share in a run must not change what each of them finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.bench.made_runs import evaluation_set

from recollect.core.errors import StoreError
from recollect.core.memory.memory import Draft
from recollect.core.recall.context import RecallContext
from recollect.core.recall.request import Candidate, RecallRequest
from recollect.core.recall.settings import RecallSettings
from recollect.settings import load
from recollect.usecases.memory.remember import remember
from recollect.usecases.recall.recall import recall
from recollect.wiring.context import build_context
from recollect_bench.in_memory import InMemoryStore
from recollect_bench.runs.configs import parse_configs
from recollect_bench.runs.run import LIMIT, SETTINGS_AFTER_LEGS, Runner
from recollect_bench.runs.stage import OWNER, Stage

pytestmark = pytest.mark.anyio

DATA = evaluation_set("facts", ["all"] * 30)
CONFIGS = "rrf,rrf:rrf_k=1,convex:dense_weight=2,lexical,rrf:depth=20,rrf:prior_strength=1"


def _quiet(*_: object) -> None:
    pass


async def _stage(asked: Counter[int]) -> Stage:
    """Stage the facts in memory, with a second leg that ranks the newest first and is counted."""
    store = InMemoryStore()
    context = build_context(store, load(owner=OWNER))
    memories = [
        (await remember(context, OWNER, Draft(document.content)), document)
        for document in DATA.documents
    ]
    known = {memory.id: document.id for memory, document in memories}

    async def newest(context: RecallContext) -> Sequence[Candidate]:
        settings = context.settings
        asked[settings.depth] += 1
        return [
            Candidate(memory.id, 1 / rank, memory.importance, memory.created_at)
            for rank, (memory, _) in enumerate(reversed(memories[-settings.depth :]), start=1)
        ]

    return Stage(DATA, replace(context, legs={**context.legs, "dense": newest}), known)


async def test_a_leg_is_asked_once_for_each_depth() -> None:
    asked = Counter[int]()
    runner = Runner(await _stage(asked))
    for config in parse_configs(CONFIGS):
        await runner.run(config, _quiet)
    assert asked == {50: len(DATA.questions), 20: len(DATA.questions)}


async def test_a_leg_is_asked_again_for_another_second_stage() -> None:
    """With late interaction the dense leg also keeps the query's token vectors."""
    asked = Counter[int]()
    runner = Runner(await _stage(asked))
    for config in parse_configs("rrf:second_stage=off,rrf:second_stage=late"):
        await runner.run(config, _quiet)
    assert asked == {50: 2 * len(DATA.questions)}


async def test_each_configuration_finds_what_a_recall_with_its_settings_finds() -> None:
    stage = await _stage(Counter())
    runner, rankings = Runner(stage), set()
    for config in parse_configs(CONFIGS):
        run = await runner.run(config, _quiet)
        rows = InMemoryStore()
        await rows.write_settings(config.settings, by=OWNER, at=datetime.now(UTC))
        context = replace(stage.context, settings=rows)
        for question in DATA.questions:
            found = await recall(context, OWNER, RecallRequest(question.text, limit=LIMIT))
            expected = tuple(stage.documents[hit.memory.id] for hit in found.hits)
            assert run.answers[question.id].ranking == expected
        rankings.add(tuple(answer.ranking for answer in run.answers.values()))
    assert len(rankings) >= 4, "the configurations must differ for this to show anything"


async def test_an_answer_has_the_ranking_of_each_leg_that_ran() -> None:
    runner = Runner(await _stage(Counter()))
    fused, lexical = [await runner.run(config, _quiet) for config in parse_configs("rrf,lexical")]
    newest = tuple(document.id for document in reversed(DATA.documents))
    assert fused.answers["q3"].legs.keys() == {"lexical", "dense"}
    assert fused.answers["q3"].legs["dense"] == newest
    assert lexical.answers["q3"].legs.keys() == {"lexical"}


async def test_timed_recalls_run_again_with_their_own_settings() -> None:
    asked = Counter[int]()
    stage = await _stage(asked)
    runner = Runner(stage)
    (first, shallow) = parse_configs("rrf,rrf:depth=20")
    await runner.run(first, _quiet)
    assert asked == {50: 30}
    assert len((await runner.run(first, _quiet, timed=7)).took_ms) == 7
    assert len((await runner.run(shallow, _quiet, timed=100)).took_ms) == 30
    assert asked == {50: 30 + 7, 20: 30 + 30}


async def test_a_leg_that_fails_ends_the_measurement() -> None:
    async def broken(context: RecallContext) -> Sequence[Candidate]:
        raise StoreError("the index is gone", remedy="Bring it back.")

    stage = await _stage(Counter())
    context = replace(stage.context, legs={**stage.context.legs, "dense": broken})
    with pytest.raises(StoreError, match="for the question q0: dense: the index is gone"):
        await Runner(replace(stage, context=context)).run(parse_configs("rrf")[0], _quiet)


def test_only_existing_settings_apply_after_the_legs() -> None:
    assert set(RecallSettings().as_dict()) >= SETTINGS_AFTER_LEGS
    assert "depth" not in SETTINGS_AFTER_LEGS
