"""An evaluation set is read completely, or rejected with the line of the error."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from recollect.core.errors import InvalidInput
from recollect_bench.data.datasets import (
    CORPUS,
    FILES,
    NO_STRATUM,
    QRELS,
    QUERIES,
    Document,
    Question,
    conversations,
    find_sets,
    read_set,
)

GOOD = {
    CORPUS: (
        '{"_id": "d1", "title": "Ducks", "text": "They swim.", "scope": "pond", "time": "soon"}\n'
        '{"_id": "d2", "text": "Zwölf\u2028Enten", "unknown": [1]}\n'
        '{"_id": "d3", "title": null, "text": " "}\n'
    ),
    QUERIES: (
        '{"_id": "q1", "text": "Who swims?", "stratum": "s", "scope": "pond", "answer": 3}\n'
        "\n"
        '{"_id": "q2", "text": "How many?", "time": "now", "evidences": [["a", "b"]]}\n'
        '{"_id": "q3", "text": "Nobody knows?", "stratum": "s"}\n'
    ),
    QRELS: "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td2\t1\nq2\td2\t1\nq2\td3\t1\n",
}


def folder(place: Path, **changed: str | bytes) -> Path:
    """Write a set with some of its files replaced; the keys are file names without extension."""
    place.mkdir(parents=True, exist_ok=True)
    for name, text in GOOD.items():
        content = changed.get(name.partition(".")[0], text)
        (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return place


def test_read_set_reads_documents_questions_and_labels(tmp_path: Path) -> None:
    found = read_set(folder(tmp_path / "ducks"))
    assert found.name == "ducks"
    assert found.documents == (
        Document("d1", "They swim.", "Ducks", "pond", "soon"),
        Document("d2", "Zwölf\u2028Enten"),
    )
    assert found.questions == (
        Question("q1", "Who swims?", "s", "pond"),
        Question("q2", "How many?", NO_STRATUM, time="now"),
    )
    # d2 is labelled as no answer to q1; d3 cannot be stored, so it can only be missed.
    assert found.gold == {"q1": {"d1": 2}, "q2": {"d2": 1, "d3": 1}}
    assert (found.unlabelled, found.empty) == (1, 1)
    assert found.digest == hashlib.sha256("".join(GOOD.values()).encode()).hexdigest()


def test_turns_of_one_time_and_place_are_a_conversation() -> None:
    documents = [
        Document("a1", "Hello.", scope="a", time="8 May"),
        Document("a2", "Hello!", scope="a", time="8 May"),
        Document("b1", "Yes?", scope="b", time="8 May"),
        Document("b2", "No.", scope="b", time="8 May"),
        Document("b3", "Alone at its time.", scope="b", time="9 May"),
        Document("c1", "A text.", title="Ducks", time="8 May"),
        Document("c2", "Another.", title="Ducks", time="8 May"),
        Document("d1", "Without a time."),
        Document("d2", "Without one, too."),
    ]
    assert conversations(documents) == {"a1": "a a1", "a2": "a a1", "b1": "b b1", "b2": "b b1"}


def test_any_byte_changes_the_digest(tmp_path: Path) -> None:
    first = read_set(folder(tmp_path / "one"))
    other = read_set(folder(tmp_path / "two", queries=GOOD[QUERIES].replace("Who", "Why")))
    assert first.digest != other.digest


def test_read_set_accepts_files_from_another_system(tmp_path: Path) -> None:
    crlf = {name.partition(".")[0]: text.replace("\n", "\r\n") for name, text in GOOD.items()}
    found = read_set(folder(tmp_path / "crlf", **{**crlf, "corpus": "\ufeff" + crlf["corpus"]}))
    good = read_set(folder(tmp_path / "good"))
    assert (found.documents, found.questions, found.gold) == (
        good.documents,
        good.questions,
        good.gold,
    )


def test_numbers_are_read_as_their_digits_and_a_blank_scope_as_none(tmp_path: Path) -> None:
    place = folder(
        tmp_path / "numbered",
        corpus='{"_id": 7, "text": "Nineteen", "title": 1984, "scope": " 3 ", "time": 1683554160}',
        queries='{"_id": 1, "text": "Who?", "scope": 3, "stratum": 2}\n'
        '{"_id": 2, "text": "Where?", "scope": " "}',
        qrels="query-id\tcorpus-id\tscore\n1\t7\t1\n2\t7\t1\n",
    )
    found = read_set(place)
    assert found.documents == (Document("7", "Nineteen", "1984", "3", "1683554160"),)
    assert found.questions == (
        Question("1", "Who?", "2", "3"),
        Question("2", "Where?", NO_STRATUM),
    )


@pytest.mark.parametrize(
    ("file", "content", "line", "what"),
    [
        (CORPUS, '{"_id": "d1", "text": "a"}\n{"_id": ', 2, "is not JSON"),
        (CORPUS, "[" * 100_000, 1, "is not JSON"),
        (CORPUS, '["d1"]\n', 1, "is not a JSON object"),
        (CORPUS, '{"_id": "d1"}\n', 1, "has no 'text'"),
        (CORPUS, '{"text": "a"}\n', 1, "has no '_id'"),
        (CORPUS, '{"_id": "", "text": "a"}\n', 1, "'_id' is empty"),
        (CORPUS, '{"_id": 0.7, "text": "a"}\n', 1, "'_id' is not text"),
        (CORPUS, '{"_id": "d1", "text": "a", "title": true}\n', 1, "'title' is not text"),
        (CORPUS, '{"_id": "d1", "text": "a\\u0000"}\n', 1, "NUL"),
        (CORPUS, '{"_id": "d", "text": "a"}\n\n{"_id": "d", "text": "b"}', 3, "that of line 1"),
        (CORPUS, "\n \n", 1, "the file is empty"),
        (CORPUS, b'{"_id": "d1", "text": "a"}\n{"_id": "d2", "text": "\xe4"}', 2, "is not UTF-8"),
        (QUERIES, '{"_id": "q1", "text": " "}\n', 1, "'text' is empty"),
        (QUERIES, '{"_id": "q1"}\n', 1, "has no 'text'"),
        (QUERIES, '{"_id": "q", "text": "a"}\n{"_id": "q", "text": "a"}', 2, "that of line 1"),
        (QUERIES, "", 1, "the file is empty"),
        (QRELS, "", 1, "the file is empty"),
        (QRELS, "q1\td1\t1\n", 1, "header"),
        (QRELS, "query-id\tcorpus-id\tscore\nq1\td1\t0\n", 2, "no score is above 0"),
        (QRELS, "query-id\tcorpus-id\tscore\n", 1, "no score is above 0"),
        (QRELS, "query-id\tcorpus-id\tscore\nq1\td1\n", 2, "is not a label"),
        (QRELS, "query-id\tcorpus-id\tscore\nq1\td1\thigh\n", 2, "is not a label"),
        (QRELS, "query-id\tcorpus-id\tscore\nq1\td9\t1\n", 2, "'d9' is not in corpus.jsonl"),
        (QRELS, "query-id\tcorpus-id\tscore\nq9\td1\t1\n", 2, "'q9' is not in queries.jsonl"),
        (QRELS, "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td1\t2\n", 3, "another score"),
    ],
)
def test_read_set_reports_the_line_of_an_error(
    tmp_path: Path, file: str, content: str | bytes, line: int, what: str
) -> None:
    place = folder(tmp_path / "faulty", **{file.partition(".")[0]: content})
    with pytest.raises(InvalidInput) as raised:
        read_set(place)
    assert str(raised.value).startswith(f"{place / file}, line {line}: ")
    assert what in str(raised.value)
    assert raised.value.remedy


def test_read_set_reports_a_missing_file(tmp_path: Path) -> None:
    (folder(tmp_path) / QRELS).unlink()
    with pytest.raises(InvalidInput, match=r"cannot read .*qrels\.tsv"):
        read_set(tmp_path)


@pytest.mark.parametrize(
    ("title", "text", "content"),
    [
        ("", "They swim.", "They swim."),
        ("Ducks", "They swim.", "Ducks\nThey swim."),
        ("Ducks", "Ducks swim.", "Ducks\nDucks swim."),
        ("Ducks", "", "Ducks\n"),
    ],
)
def test_content_is_the_text_under_its_title(title: str, text: str, content: str) -> None:
    assert Document("d", text, title).content == content


@pytest.mark.parametrize(
    ("time", "moment"),
    [
        (None, None),
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("12:09 am on 13 September, 2023", datetime(2023, 9, 13, 0, 9, tzinfo=UTC)),
        ("2023/04/10 (Mon) 23:07", datetime(2023, 4, 10, 23, 7, tzinfo=UTC)),
        ("2023-04-10T23:07:00", datetime(2023, 4, 10, 23, 7, tzinfo=UTC)),
        (
            "2023-04-10T23:07+02:00",
            datetime(2023, 4, 10, 23, 7, tzinfo=timezone(timedelta(hours=2))),
        ),
        ("last spring", None),
        ("", None),
    ],
)
def test_times_are_parsed_in_every_format_of_the_sets(
    time: str | None, moment: datetime | None
) -> None:
    assert Document("d", "text", time=time).moment == moment


def test_sets_are_found_by_name_or_all_of_them(tmp_path: Path) -> None:
    b, a = folder(tmp_path / "b"), folder(tmp_path / "a")
    (tmp_path / "raw").mkdir()
    (tmp_path / "README.md").touch()
    assert find_sets(tmp_path, None) == [a, b]
    assert find_sets(tmp_path, ["b", "a", "b"]) == [b, a]
    assert find_sets(a, None) == [a], "a set itself is found too"
    assert find_sets(a, ["a"]) == [a]


def test_set_is_named_after_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("old", "new"):
        folder(tmp_path / version / "ducks")
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / version).symlink_to(tmp_path / version / "ducks")
    found = find_sets(tmp_path / "data", ["old", "new"])
    assert [read_set(each).name for each in found] == ["old", "new"]
    monkeypatch.chdir(tmp_path / "old" / "ducks")
    assert read_set(Path()).name == read_set(Path("..") / "ducks").name == "ducks"
    (tmp_path / "old" / "ducks" / "inside").mkdir()
    monkeypatch.chdir("inside")
    assert find_sets(Path(".."), ["ducks"]) == [Path("..")]
    assert read_set(Path("..")).name == "ducks"


@pytest.mark.parametrize(
    ("within", "names", "what"),
    [
        ("nowhere", None, "there is no folder"),
        ("empty", None, "contains no evaluation set"),
        (".", ["a", "c"], "there is no evaluation set named 'c'"),
        (".", ["empty"], "there is no evaluation set named 'empty'"),
    ],
)
def test_find_sets_reports_missing_sets(
    tmp_path: Path, within: str, names: list[str] | None, what: str
) -> None:
    folder(tmp_path / "a")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match=what):
        find_sets(tmp_path / within, names)


def test_a_folder_that_lacks_a_file_is_no_set(tmp_path: Path) -> None:
    for name in FILES:
        (folder(tmp_path / name) / name).unlink()
    assert find_sets(folder(tmp_path / "whole").parent, None) == [tmp_path / "whole"]


def test_ready_made_facts_are_read_with_a_set(tmp_path: Path) -> None:
    place = folder(tmp_path / "ducks")
    without = read_set(place)
    (place / "openie.jsonl").write_text('{"doc": "d1", "entities": ["Rex"]}\n', encoding="utf-8")
    found = read_set(place)
    assert (without.facts, found.facts) == ((), ('{"doc": "d1", "entities": ["Rex"]}',))
    assert found.digest == without.digest


def test_prompts_without_an_answer_are_read(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "text": "a fact"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "which fact?"}\n')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    assert read_set(tmp_path).unanswerable == ()
    (tmp_path / "queries_none.jsonl").write_text('{"_id": "n", "text": "sort these lines"}\n')
    (question,) = read_set(tmp_path).unanswerable
    assert (question.id, question.text) == ("n", "sort these lines")
