"""Published files become evaluation sets: small ones written here, and the real ones if they
are there (RECOLLECT_BENCH_DATA names a folder with the sets, and with the published files in
`raw`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import Result, run_command

from recollect.core.errors import InvalidInput
from recollect.shells.cli.framework.exit import ExitCode
from recollect_bench.cli.app import app
from recollect_bench.data.convert import Converted, write_set
from recollect_bench.data.datasets import (
    CORPUS,
    FILES,
    QRELS,
    QUERIES,
    Document,
    Question,
    read_set,
)
from recollect_bench.data.locomo import locomo
from recollect_bench.data.longmemeval import knowledge_updates, longmemeval

DATA = Path(os.environ.get("RECOLLECT_BENCH_DATA", "nowhere"))
RAW = DATA / "raw"

CONVERSATION: dict[str, Any] = {
    "speaker_a": "Ada",
    "session_1_date_time": "9:05 am on 1 May, 2024",
    "session_1": [
        {"speaker": "Ada", "dia_id": "D1:1", "text": "I sold the boat."},
        {
            "speaker": "Bo",
            "dia_id": "D1:2",
            "text": "Look!",
            "blip_caption": "a pier",
            "query": "x",
        },
    ],
    "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "Größer ist besser."}],
}
LOCOMO: list[dict[str, Any]] = [
    {
        "sample_id": "conv-1",
        "event_summary": {},
        "conversation": CONVERSATION,
        "qa": [
            {"question": "What was sold?", "answer": "a boat", "evidence": ["D1:1"], "category": 4},
            {"question": "How many?", "answer": 2, "evidence": ["D2:1; D1:2 D1:2"], "category": 1},
            {"question": "Never said?", "answer": "no", "evidence": [], "category": 3},
            {"question": "Bad label?", "answer": "no", "evidence": ["D9:9", "D"], "category": 2},
            {
                "question": "Did Bo sell it?",
                "adversarial_answer": "yes",
                "evidence": ["D1:1", "D7:1"],
                "category": 5,
            },
        ],
    }
]
SESSIONS = [
    [
        {"role": "user", "content": "My train left at 8.", "has_answer": True},
        {"role": "assistant", "content": "Noted.", "has_answer": False},
    ],
    [{"role": "user", "content": "I bought a tent."}],
]
LONGMEMEVAL: list[dict[str, Any]] = [
    {
        "question_id": id,
        "question_type": "temporal-reasoning",
        "question": "When did my train leave?",
        "answer": 8,
        "question_date": "2024/05/02 (Thu) 10:00",
        "haystack_dates": ["2024/05/01 (Wed) 09:00", "2024/05/01 (Wed) 10:00"],
        "haystack_session_ids": ["answer_a", "b"],
        "haystack_sessions": SESSIONS,
        "answer_session_ids": ["answer_a"],
    }
    for id in ("q1", "q2_abs")
]


@pytest.fixture
def published(tmp_path: Path) -> Callable[[object], Path]:
    def write(content: object) -> Path:
        file = tmp_path / "published.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        return file

    return write


def gold(converted: Converted) -> dict[str, tuple[str, ...]]:
    return {labelled.question.id: labelled.gold for labelled in converted.asked}


def test_locomo_becomes_turns_in_scopes(published: Callable[[object], Path]) -> None:
    found = locomo(published(LOCOMO))
    time = "9:05 am on 1 May, 2024"
    assert found.documents == (
        Document("conv-1|D1:1", "Ada: I sold the boat.", scope="conv-1", time=time),
        Document("conv-1|D1:2", "Bo: Look! [image: a pier]", scope="conv-1", time=time),
        Document("conv-1|D2:1", "Bo: Größer ist besser.", scope="conv-1"),
    )
    assert [labelled.question for labelled in found.asked] == [
        Question("conv-1|q0", "What was sold?", "single-hop", "conv-1"),
        Question("conv-1|q1", "How many?", "multi-hop", "conv-1"),
        Question("conv-1|q4", "Did Bo sell it?", "adversarial", "conv-1"),
    ]
    assert gold(found) == {
        "conv-1|q0": ("conv-1|D1:1",),
        "conv-1|q1": ("conv-1|D2:1", "conv-1|D1:2"),
        "conv-1|q4": ("conv-1|D1:1",),
    }
    assert [labelled.answer for labelled in found.asked] == ["a boat", 2, "yes"]
    assert (found.labels, found.left_out) == (4, 2)


def test_longmemeval_becomes_sessions_or_turns(published: Callable[[object], Path]) -> None:
    file = published(LONGMEMEVAL)
    early, late = LONGMEMEVAL[0]["haystack_dates"]
    sessions = longmemeval(file, "session")
    assert sessions.documents == (
        Document("answer_a", "user: My train left at 8.\nassistant: Noted.", time=early),
        Document("b", "user: I bought a tent.", time=late),
    )
    assert gold(sessions) == {"q1": ("answer_a",)}
    turns = longmemeval(file, "turn")
    assert turns.documents == (
        Document("answer_a#0", "user: My train left at 8.", time=early),
        Document("answer_a#1", "assistant: Noted.", time=early),
        Document("b#0", "user: I bought a tent.", time=late),
    )
    assert gold(turns) == {"q1": ("answer_a#0",)}
    asked = Question(
        "q1", "When did my train leave?", "temporal-reasoning", time=LONGMEMEVAL[0]["question_date"]
    )
    for converted in (sessions, turns):
        assert [(labelled.question, labelled.answer) for labelled in converted.asked] == [
            (asked, "8")
        ]
        assert converted.left_out == 1


def test_knowledge_updates_become_turns_in_order_with_their_pairs(
    published: Callable[[object], Path],
) -> None:
    older, newer = (
        [{"role": "user", "content": f"My train leaves at {hour}.", "has_answer": True}]
        for hour in (8, 9)
    )
    update = {
        **LONGMEMEVAL[0],
        "question_type": "knowledge-update",
        "haystack_sessions": [newer, older],
        "haystack_dates": ["2024/05/02 (Thu) 09:00", "2024/05/01 (Wed) 09:00"],
        "haystack_session_ids": ["late", "early"],
    }
    found = knowledge_updates(published([update, *LONGMEMEVAL]))
    assert [document.id for document in found.documents] == ["early#0", "late#0"]
    assert found.supersedes == (("late#0", "early#0"),)
    assert gold(found) == {"q1": ("early#0", "late#0")}


def test_converted_set_round_trips(published: Callable[[object], Path], tmp_path: Path) -> None:
    found = locomo(published(LOCOMO))
    write_set(found, tmp_path / "deep" / "set")
    read = read_set(tmp_path / "deep" / "set")
    assert read.documents == found.documents
    assert read.questions == tuple(labelled.question for labelled in found.asked)
    assert {id: tuple(labels) for id, labels in read.gold.items()} == gold(found)
    assert "Größer" in (tmp_path / "deep" / "set" / CORPUS).read_text(encoding="utf-8")


def _without(content: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    changed = deepcopy(content)
    del changed[0][name]
    return changed


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ({}, "not the published LoCoMo"),
        (_without(LOCOMO, "sample_id"), "0.sample_id: Field required"),
        (LONGMEMEVAL, "0.sample_id: Field required"),
        ([{**LOCOMO[0], "qa": [{**LOCOMO[0]["qa"][0], "category": 6}]}], "0.qa.0.category"),
    ],
)
def test_convert_rejects_a_different_file(
    published: Callable[[object], Path], content: object, what: str
) -> None:
    with pytest.raises(InvalidInput) as raised:
        locomo(published(content))
    assert what in str(raised.value)
    assert "as published" in raised.value.remedy


def test_sessions_without_a_date_are_refused(published: Callable[[object], Path]) -> None:
    with pytest.raises(InvalidInput, match=r"question 'q1' has different numbers"):
        longmemeval(published([{**LONGMEMEVAL[0], "haystack_dates": []}]), "turn")


def run(*arguments: object) -> Result:
    return run_command([str(argument) for argument in arguments], app)


def test_convert_prints_what_it_wrote(published: Callable[[object], Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("convert", "longmemeval", published(LONGMEMEVAL), out, "--unit", "turn")
    assert done.exit_code == 0, done.output
    assert "3 memories, 1 questions, 1 labels; skipped 1 questions without labels" in done.stdout
    assert [len((out / name).read_text().splitlines()) for name in FILES] == [3, 1, 2]
    listed = run("sets", "--data", out)
    assert listed.exit_code == 0, listed.output
    assert "out" in listed.stdout


def test_a_folder_in_use_is_replaced_only_by_force(
    published: Callable[[object], Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    arguments = ("convert", "locomo", published(LOCOMO), out)
    refused = run(*arguments)
    assert refused.exit_code == ExitCode.INVALID
    assert "not empty" in refused.stderr
    assert "--force" in refused.stderr
    assert [file.name for file in out.iterdir()] == ["notes.txt"]
    (out / QRELS).write_text("old")
    assert run(*arguments, "--force").exit_code == 0
    assert len(read_set(out).questions) == 3
    assert (out / "notes.txt").read_text() == "mine"


def test_convert_reports_an_unwritable_target(
    published: Callable[[object], Path], tmp_path: Path
) -> None:
    file = published(LOCOMO)
    for out, what in ((file, "is a file"), (file / "below", "cannot write")):
        with pytest.raises(InvalidInput, match=what):
            write_set(locomo(file), out)
    with pytest.raises(InvalidInput, match="cannot read"):
        locomo(tmp_path / "nowhere.json")


def test_without_data_the_synthetic_set_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECOLLECT_BENCH_DATA", raising=False)
    heads, numbers = (line.split() for line in run("sets").stdout.splitlines())
    assert dict(zip(heads, numbers, strict=True)) == {
        "set": "synthetic",
        "memories": "216",
        "questions": "100",
        "labels": "120",
        "exact": "38",
        "paraphrase": "42",
        "multi-hop": "20",
        "mixed": "0",
    }


@pytest.mark.skipif(
    not RAW.is_dir(),
    reason="the published files are not here: point RECOLLECT_BENCH_DATA to a folder with raw/",
)
@pytest.mark.parametrize(
    ("name", "convert"),
    [
        ("locomo", lambda: locomo(RAW / "locomo10.json")),
        (
            "longmemeval_oracle_session",
            lambda: longmemeval(RAW / "longmemeval_oracle.json", "session"),
        ),
        ("longmemeval_oracle_turn", lambda: longmemeval(RAW / "longmemeval_oracle.json", "turn")),
    ],
)
def test_the_real_files_give_the_known_sets(
    tmp_path: Path, name: str, convert: Callable[[], Converted]
) -> None:
    """Byte for byte, except for what an audit added to some questions of LoCoMo."""
    write_set(convert(), tmp_path / name)
    for file in (CORPUS, QRELS):
        assert (tmp_path / name / file).read_bytes() == (DATA / name / file).read_bytes()
    assert _questions(tmp_path / name) == _questions(DATA / name)


def _questions(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / QUERIES).read_text(encoding="utf-8").split("\n")
    added = ("audit", "audit_evidence")
    entries = (json.loads(line) for line in lines if line)
    return [{key: entry[key] for key in entry if key not in added} for entry in entries]
