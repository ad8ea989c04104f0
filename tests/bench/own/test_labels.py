"""The private set: its folder, what is stored in it, and when a question is dropped."""

from __future__ import annotations

import json
import stat
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.bench.memories import filler, memory

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import Memory
from recollect_bench.own.labels import (
    FILE,
    Label,
    accept_all,
    content_digest,
    judge_labels,
    read_current_labels,
    read_labels,
    strike,
    top_up,
    write_labels,
)
from recollect_bench.own.private import private_folder
from recollect_bench.own.words import OwnWords

MEMORIES = {str(memory.id): memory for memory in filler(1, 12)}
OWN = OwnWords.of(MEMORIES.values())


def _labels(count: int) -> list[Label]:
    return top_up([], OWN, count, 1, ask=False)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_private_folder_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "home")
    write_labels(folder, _labels(2))
    assert folder == tmp_path / "home" / "bench" / "own"
    assert _mode(folder) == 0o700
    assert {file.name: _mode(file) for file in folder.iterdir()} == {
        ".gitignore": 0o600,
        FILE: 0o600,
    }
    assert (folder / ".gitignore").read_text() == "*\n"


def test_private_folder_restricts_existing_permissions(tmp_path: Path) -> None:
    folder = tmp_path / "bench" / "own"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    assert _mode(private_folder(tmp_path)) == 0o700


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_private_folder_is_refused_inside_a_git_work_tree(tmp_path: Path, kind: str) -> None:
    git = tmp_path / ".git"
    if kind == "folder":
        git.mkdir()
    else:
        git.write_text("gitdir: elsewhere\n")
    home = tmp_path / "deep" / "home"
    with pytest.raises(InvalidInput, match="git work tree"):
        private_folder(home)
    assert not home.exists()


def test_private_folder_is_refused_through_a_symlink_into_a_work_tree(tmp_path: Path) -> None:
    (tmp_path / "tree" / ".git").mkdir(parents=True)
    (tmp_path / "tree" / "inside").mkdir()
    home = tmp_path / "home"
    home.symlink_to(tmp_path / "tree" / "inside")
    with pytest.raises(InvalidInput, match="git work tree"):
        private_folder(home)


def test_temporary_copies_inside_a_work_tree_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tree" / ".git").mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tree"))
    with pytest.raises(InvalidInput, match="git work tree"):
        private_folder(tmp_path / "home")


def _file_with(**fields: object) -> str:
    label = {"id": "a", "stratum": "exact", "text": "b", "gold": {"c": "d"}, **fields}
    return json.dumps({"format": 1, "questions": [label]})


def test_labels_round_trip_through_the_file(tmp_path: Path) -> None:
    labels = [replace(label, state="confirmed", text="wörds “quoted”\n") for label in _labels(3)]
    write_labels(tmp_path, labels)
    assert read_labels(tmp_path) == labels
    assert read_labels(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"format": 2, "questions": []}',
        '{"format": 1, "questions": [{}]}',
        _file_with(text=1),
        _file_with(stratum="no"),
        _file_with(state="no"),
        _file_with(gold={}),
        _file_with(gold=["b"]),
    ],
)
def test_read_labels_reports_an_invalid_file(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(InvalidInput, match="not a private set"):
        read_labels(tmp_path)


def _forget(memories: dict[str, Memory], id: str) -> None:
    del memories[id]


def _change(memories: dict[str, Memory], id: str) -> None:
    memories[id] = replace(memories[id], content="It says something else now")


@pytest.mark.parametrize("happens", [_forget, _change])
def test_labels_are_dropped_when_their_memory_changes(tmp_path: Path, happens: object) -> None:
    labels = _labels(3)
    write_labels(tmp_path, labels)
    memories = dict(MEMORIES)
    (target,) = labels[0].gold
    happens(memories, target)  # type: ignore[operator]  # one of the two above
    assert read_current_labels(tmp_path, memories) == labels[1:]
    assert labels[0].text not in (tmp_path / FILE).read_text()


def test_top_up_proposes_missing_questions_but_no_discarded_ones() -> None:
    labels = _labels(3)
    assert Counter(label.stratum for label in labels) == {"exact": 3}
    after = top_up([strike(labels[0]), *labels[1:]], OWN, 3, 1, ask=False)
    assert len(after) == 4
    assert len({label.id for label in after}) == 4
    assert [label.state for label in after] == ["struck", "proposed", "proposed", "proposed"]
    assert top_up(after, OWN, 3, 1, ask=False) == after


def test_blank_paraphrases_are_kept_only_with_ask() -> None:
    asked = top_up([], OWN, 2, 1, ask=True)
    assert Counter(label.stratum for label in asked if not label.text) == {"paraphrase": 2}
    assert [label.state for label in accept_all(asked) if not label.text] == ["proposed"] * 2
    assert all(label.text for label in top_up(asked, OWN, 2, 1, ask=False))


def test_judge_labels_saves_every_answer_and_resumes(tmp_path: Path) -> None:
    labels = _labels(4)
    calls: list[tuple[str, int, int]] = []

    def judge(label: Label, number: int, total: int) -> Label | None:
        calls.append((label.id, number, total))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return replace(label, state="confirmed") if number == 1 else strike(label)

    with pytest.raises(KeyboardInterrupt):
        judge_labels(labels, judge, lambda now: write_labels(tmp_path, now))
    saved = read_labels(tmp_path)
    assert [label.state for label in saved] == ["confirmed", "struck", "proposed", "proposed"]
    assert saved[1].text == ""
    judge_labels(saved, judge, lambda now: write_labels(tmp_path, now))
    ids = [label.id for label in labels]
    assert calls[3:] == [(ids[2], 1, 2), (ids[3], 2, 2)]


def test_judge_labels_stops_on_quit_and_asks_again_about_accepted_ones() -> None:
    labels = accept_all(_labels(3))
    asked: list[str] = []

    def judge(label: Label, _number: int, _total: int) -> Label | None:
        asked.append(label.id)
        return None if len(asked) == 2 else replace(label, state="confirmed")

    after = judge_labels(labels, judge, lambda _: None)
    assert [label.state for label in after] == ["confirmed", "taken", "taken"]
    assert [label.counts for label in (*after, strike(after[0]))] == [True, True, True, False]


def test_the_file_names_memories_by_id_and_digest() -> None:
    (label,) = _labels(1)
    ((id, digest),) = label.gold.items()
    assert digest == content_digest(MEMORIES[id])
    assert content_digest(memory(1, "a")) != content_digest(memory(1, "b"))
