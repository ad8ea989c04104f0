"""Long texts built from short ones, with a fact at a known position."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.command_line import run_command

from recollect.core.errors import InvalidInput
from recollect_bench.cli.app import app
from recollect_bench.data.convert import write_set
from recollect_bench.data.datasets import read_set
from recollect_bench.data.positions import PLACES, place_facts
from recollect_bench.data.synthetic import synthetic_set

LENGTH = 3_000


def test_versions_of_a_text_differ_only_in_the_place_of_the_fact(tmp_path: Path) -> None:
    source = synthetic_set()
    write_set(place_facts(source, 5, LENGTH, seed=1), tmp_path / "long")
    long = read_set(tmp_path / "long")
    texts = {document.id: document.text.split("\n\n") for document in long.documents}
    answers = {document.id: document.content for document in source.documents}
    golds = {question.text: source.gold[question.id] for question in source.questions}
    assert len(long.questions) == 15
    for question in long.questions:
        (id,) = long.gold[question.id]
        (fact,) = (answers[each] for each in golds[question.text])
        text = texts[id]
        assert sum(map(len, text)) >= LENGTH
        place = {"start": 0, "middle": (len(text) - 1) // 2, "end": len(text) - 1}
        assert text[place[question.stratum]] == fact
        number = id.partition("-")[0]
        versions = [sorted(texts[f"{number}-{place}"]) for place in PLACES]
        assert versions[0] == versions[1] == versions[2]


def test_the_same_seed_gives_the_same_set() -> None:
    source = synthetic_set()
    assert place_facts(source, 5, LENGTH, 1) == place_facts(source, 5, LENGTH, 1)
    assert place_facts(source, 5, LENGTH, 1) != place_facts(source, 5, LENGTH, 2)


def test_a_set_without_single_answers_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no questions with a single answer"):
        place_facts(replace(synthetic_set(), questions=()), 5, LENGTH, 1)


def test_convert_positions_writes_a_set(tmp_path: Path) -> None:
    write_set(place_facts(synthetic_set(), 9, 1_000, seed=1), tmp_path / "source")
    folders = [str(tmp_path / name) for name in ("source", "out")]
    result = run_command(["convert", "positions", *folders, "--questions", "3"], app)
    assert result.exit_code == 0, result.output
    assert read_set(tmp_path / "out").questions
