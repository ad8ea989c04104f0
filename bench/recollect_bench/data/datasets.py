"""Evaluation sets: documents, questions, and which documents answer which question.

All sets have one layout, so that a new set is measured by the same command. A set is a folder of
three files, in UTF-8:

    corpus.jsonl    _id, text; optional title, scope (search only inside it), time
    queries.jsonl   _id, text; optional stratum, scope, time
    qrels.tsv       query-id, corpus-id, score, separated by tabs, after a header line

Optional files: facts for the concept graph, as `recollect graph import` reads them, in openie.jsonl
or entity_graph.jsonl, where a memory is referred to by its document's id; prompts that no document
answers in queries_none.jsonl, in the format of queries.jsonl; which documents replace others in
supersedes.tsv (newer, older), and which say the same in duplicates.tsv (a, b), both with a header
line.

An integer is read as text, since an id may be one; a blank scope is none. Other fields are ignored.
Errors are reported with file and line before anything is stored: a measurement on half-read data
would look like any other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from recollect.core.errors import InvalidInput
from recollect.core.text.analysis import find_unstorable

CORPUS: Final = "corpus.jsonl"
QUERIES: Final = "queries.jsonl"
QRELS: Final = "qrels.tsv"
FILES: Final = (CORPUS, QUERIES, QRELS)
FACTS: Final = ("openie.jsonl", "entity_graph.jsonl")
UNANSWERABLE: Final = "queries_none.jsonl"
HEADER: Final = ("query-id", "corpus-id", "score")
SUPERSEDES: Final = "supersedes.tsv"
DUPLICATES: Final = "duplicates.tsv"
PAIR_HEADERS: Final = {SUPERSEDES: ("newer", "older"), DUPLICATES: ("a", "b")}
# The stratum of questions in a set without strata.
NO_STRATUM: Final = "unstratified"
# The date formats of LoCoMo and LongMemEval; anything else must be ISO 8601.
_TIMES: Final = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M")

Pair = tuple[str, str]
"""The ids of two documents."""

Gold = Mapping[str, Mapping[str, int]]
"""Question id to document id to relevance, which is above 0."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document, which is stored as one memory."""

    id: str
    text: str
    title: str = ""
    scope: str | None = None
    time: str | None = None

    @property
    def content(self) -> str:
        """The stored text, under its title, as such sets are usually measured."""
        return f"{self.title}\n{self.text}" if self.title else self.text

    @property
    def moment(self) -> datetime | None:
        """When it was said, if `time` can be parsed; UTC unless it names a zone."""
        return None if self.time is None else _parse_moment(self.time)


def conversations(documents: Sequence[Document]) -> dict[str, str]:
    """Map each turn's document id to its conversation. Consecutive documents without titles, in one
    scope and at one time, are the turns of a conversation.
    """
    found: dict[str, str] = {}
    for (scope, time, title), run in groupby(
        documents, key=lambda document: (document.scope, document.time, document.title)
    ):
        turns = list(run)
        if time is not None and not title and len(turns) > 1:
            found |= dict.fromkeys((turn.id for turn in turns), f"{scope or ''} {turns[0].id}")
    return found


@dataclass(frozen=True, slots=True)
class Question:
    """A query of a set."""

    id: str
    text: str
    stratum: str
    scope: str | None = None
    time: str | None = None


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """Every question has gold. `unlabelled` counts those that had none and were left out. `empty`
    counts documents without text, which cannot be stored but stay in the gold: a label expects them
    to be found, so they count as missed. `facts` are lines of facts for the concept graph, if there
    are any; the digest does not cover them. `unanswerable` are prompts that no document answers.
    `supersedes` are pairs of a newer document and the one it replaces, `duplicates` pairs that say
    the same.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    gold: Gold
    digest: str
    unlabelled: int = 0
    empty: int = 0
    facts: tuple[str, ...] = ()
    unanswerable: tuple[Question, ...] = ()
    supersedes: tuple[Pair, ...] = ()
    duplicates: tuple[Pair, ...] = ()


def find_sets(data: Path, names: Sequence[str] | None) -> list[Path]:
    """Return the folders of the named sets, in that order, or of all sets, sorted by name."""
    if not data.is_dir():
        raise InvalidInput(
            f"there is no folder {data}",
            field="data",
            remedy="Pass the directory that contains the evaluation sets, one directory each.",
        )
    here = {folder.name: folder for folder in sorted(data.iterdir()) if _is_set(folder)}
    if not here and _is_set(data):
        here = {_name_of(data): data}
    if not here:
        raise InvalidInput(
            f"{data} contains no evaluation set",
            field="data",
            remedy=f"A set is a directory with {', '.join(FILES)}.",
        )
    unknown = [name for name in names or () if name not in here]
    if unknown:
        raise InvalidInput(
            f"there is no evaluation set named {unknown[0]!r}",
            field="sets",
            remedy=f"Choose from {', '.join(here)}.",
        )
    return [here[name] for name in dict.fromkeys(here if names is None else names)]


def read_set(folder: Path) -> EvaluationSet:
    """Read and check the set in a folder; raise InvalidInput with file and line of an error."""
    contents = {name: _read_bytes(folder / name) for name in FILES}
    digest = hashlib.sha256()
    for content in contents.values():
        digest.update(content)
    documents = _parse_documents(_Source(folder / CORPUS, contents[CORPUS]))
    questions = _parse_questions(_Source(folder / QUERIES, contents[QUERIES]))
    gold = _parse_gold(_Source(folder / QRELS, contents[QRELS]), documents, questions)
    labelled = tuple(question for question in questions.values() if question.id in gold)
    stored = tuple(document for document in documents.values() if document.content.strip())
    return EvaluationSet(
        name=_name_of(folder),
        documents=stored,
        questions=labelled,
        gold=gold,
        digest=digest.hexdigest(),
        unlabelled=len(questions) - len(labelled),
        empty=len(documents) - len(stored),
        facts=tuple(line for name in FACTS for line in read_facts(folder / name, needed=False)),
        unanswerable=_read_unanswerable(folder / UNANSWERABLE),
        supersedes=_read_pairs(folder / SUPERSEDES, documents),
        duplicates=_read_pairs(folder / DUPLICATES, documents),
    )


def _read_pairs(file: Path, documents: Mapping[str, Document]) -> tuple[Pair, ...]:
    if not file.is_file():
        return ()
    source = _Source(file, _read_bytes(file))
    (number, header), *lines = source.lines()
    if tuple(header.strip("\r").split("\t")) != PAIR_HEADERS[file.name]:
        remedy = f"Begin the file with {' and '.join(PAIR_HEADERS[file.name])}, separated by a tab."
        raise source.fault(number, "is not the header line", remedy)
    found: list[Pair] = []
    for number, line in lines:
        first, _, second = line.strip("\r").partition("\t")
        for id in (first, second):
            if id not in documents:
                remedy = f"Add it to {CORPUS}, or drop the line."
                raise source.fault(number, f"{id!r} is not in {CORPUS}", remedy)
        found.append((first, second))
    return tuple(found)


def _read_unanswerable(file: Path) -> tuple[Question, ...]:
    if not file.is_file():
        return ()
    return tuple(_parse_questions(_Source(file, _read_bytes(file))).values())


def read_facts(file: Path, *, needed: bool = True) -> tuple[str, ...]:
    """Return the lines of a facts file; none if the file is missing, unless it is `needed`."""
    if not needed and not file.is_file():
        return ()
    return tuple(line for _, line in _Source(file, _read_bytes(file)).lines())


@dataclass(frozen=True, slots=True)
class _Source:
    """One file, whose errors name the file and the line."""

    path: Path
    content: bytes

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield non-blank lines. Only a line feed ends one: texts contain other line breaks."""
        try:
            text = self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.content.count(b"\n", 0, error.start) + 1
            raise self.fault(line, "is not UTF-8", "Save the file as UTF-8.") from error
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        if not lines:
            raise self.fault(1, "the file is empty", "Use a file with at least one entry.")
        yield from lines

    def objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, line in self.lines():
            try:
                found = json.loads(line)
            except (ValueError, RecursionError) as error:
                remedy = "Write one JSON object per line."
                raise self.fault(number, f"is not JSON: {error}", remedy) from error
            if not isinstance(found, dict):
                raise self.fault(number, "is not a JSON object", "Write one JSON object per line.")
            yield number, found

    def fault(self, line: int, what: str, remedy: str) -> InvalidInput:
        return InvalidInput(f"{self.path}, line {line}: {what}", field="data", remedy=remedy)

    def text(self, line: int, entry: Mapping[str, Any], field: str) -> str:
        """Return a required field."""
        found = self.optional(line, entry, field)
        if found is None:
            raise self.fault(line, f"has no {field!r}", f"Give every entry its {field!r}.")
        return found

    def optional(self, line: int, entry: Mapping[str, Any], field: str) -> str | None:
        found = entry.get(field)
        if type(found) is int:  # but not its subclass bool
            return str(found)
        if found is not None and not isinstance(found, str):
            raise self.fault(line, f"{field!r} is not text", f"Write {field!r} in quotes.")
        if found is not None and (what := find_unstorable(found)):
            raise self.fault(line, f"{field!r} contains {what}", "Remove that character.")
        return found

    def scope(self, line: int, entry: Mapping[str, Any]) -> str | None:
        """Return the scope, stripped like a memory's project."""
        return (self.optional(line, entry, "scope") or "").strip() or None

    def named(self, entries: Iterable[tuple[int, dict[str, Any]]]) -> Iterator[_Named]:
        """Yield entries with their ids, which must be unique and not empty."""
        seen: dict[str, int] = {}
        for line, entry in entries:
            id = self.text(line, entry, "_id")
            if not id:
                raise self.fault(line, "'_id' is empty", "Give every entry an id of its own.")
            if id in seen:
                what = f"the id {id!r} is that of line {seen[id]}"
                raise self.fault(line, what, "Give every entry an id of its own.")
            seen[id] = line
            yield line, id, entry


_Named = tuple[int, str, dict[str, Any]]


def _parse_documents(source: _Source) -> dict[str, Document]:
    return {
        id: Document(
            id,
            source.text(line, entry, "text"),
            source.optional(line, entry, "title") or "",
            source.scope(line, entry),
            source.optional(line, entry, "time"),
        )
        for line, id, entry in source.named(source.objects())
    }


def _parse_questions(source: _Source) -> dict[str, Question]:
    found: dict[str, Question] = {}
    for line, id, entry in source.named(source.objects()):
        text = source.text(line, entry, "text")
        if not text.strip():
            raise source.fault(line, "'text' is empty", "Ask something, or drop the question.")
        found[id] = Question(
            id,
            text,
            source.optional(line, entry, "stratum") or NO_STRATUM,
            source.scope(line, entry),
            source.optional(line, entry, "time"),
        )
    return found


def _parse_gold(
    source: _Source, documents: Mapping[str, Document], questions: Mapping[str, Question]
) -> dict[str, dict[str, int]]:
    gold: dict[str, dict[str, int]] = {}
    lines = source.lines()
    number, header = next(lines)
    if tuple(header.strip("\r").split("\t")) != HEADER:
        remedy = f"Begin the file with {', '.join(HEADER)}, separated by tabs."
        raise source.fault(number, "is not the header line", remedy)
    for number, line in lines:
        question, document, score = _parse_label(source, number, line)
        for id, known, file in ((question, questions, QUERIES), (document, documents, CORPUS)):
            if id not in known:
                remedy = f"Add it to {file}, or drop the line."
                raise source.fault(number, f"{id!r} is not in {file}", remedy)
        # A score of 0 means that the document is not an answer.
        if score > 0 and gold.setdefault(question, {}).setdefault(document, score) != score:
            what = f"gives {document!r} another score for {question!r} than an earlier line"
            raise source.fault(number, what, "Keep one of the two lines.")
    if not gold:
        raise source.fault(number, "no score is above 0", "Label at least one document.")
    return gold


def _parse_label(source: _Source, number: int, line: str) -> tuple[str, str, int]:
    parts = line.strip("\r").split("\t")
    try:
        question, document, score = parts
        return question, document, int(score)
    except ValueError as error:
        remedy = "Write the question's id, the document's id and an integer, separated by tabs."
        raise source.fault(number, "is not a label", remedy) from error


def _parse_moment(text: str) -> datetime | None:
    for form in _TIMES:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _name_of(folder: Path) -> str:
    """Return the folder's own name, not that of a link's target, which may be another set's."""
    return folder.resolve().name if folder.name in ("", "..") else folder.name


def _is_set(folder: Path) -> bool:
    return all((folder / name).is_file() for name in FILES)


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"cannot read {path}: {error.strerror}",
            field="data",
            remedy=f"A set is a directory with {', '.join(FILES)}.",
        ) from error
