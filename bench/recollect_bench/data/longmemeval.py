"""LongMemEval: questions about chat sessions between a user and an assistant.

A document is a whole session or one turn of it, with the speaker's role before each turn. The
sessions of all questions are pooled: searching all of them is harder than searching the question's
own. Questions that the sessions cannot answer (`_abs`) are left out, since they have no gold.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel

from recollect.core.errors import InvalidInput
from recollect_bench.data.convert import Asked, Converted, read_published
from recollect_bench.data.datasets import Document, Question

Unit = Literal["session", "turn"]
_UNANSWERABLE: Final = "_abs"
_UPDATE: Final = "knowledge-update"


class _Turn(BaseModel):
    role: str
    content: str
    has_answer: bool = False

    @property
    def text(self) -> str:
        return f"{self.role}: {self.content}"


class _Entry(BaseModel):
    """A question with the sessions it is about."""

    question_id: str
    question_type: str
    question: str
    answer: str | int
    question_date: str
    haystack_dates: list[str]
    haystack_session_ids: list[str]
    haystack_sessions: list[list[_Turn]]
    answer_session_ids: list[str]

    @property
    def sessions(self) -> list[tuple[str, str, list[_Turn]]]:
        parts = (self.haystack_session_ids, self.haystack_dates, self.haystack_sessions)
        try:
            return list(zip(*parts, strict=True))
        except ValueError as error:
            raise InvalidInput(
                f"question {self.question_id!r} has different numbers of sessions, ids and dates",
                field="file",
                remedy="Use the JSON file of LongMemEval as published, unchanged.",
            ) from error


def longmemeval(file: Path, unit: Unit) -> Converted:
    """Convert `longmemeval_oracle.json` or one of its larger variants."""
    documents: dict[str, Document] = {}
    asked: list[Asked] = []
    for entry in read_published(file, list[_Entry], "LongMemEval"):
        units = _split_by_session(entry) if unit == "session" else _split_by_turn(entry)
        for document, _ in units:
            # Many questions are asked about the same session.
            documents.setdefault(document.id, document)
        asked.append(_to_asked(entry, [document.id for document, answers in units if answers]))
    return Converted.of(documents, asked)


def knowledge_updates(file: Path) -> Converted:
    """Convert to a set for curation: the turns of every question about a fact that changed, in
    order. The last turn that states the fact in the newer session supersedes that in the older one.
    """
    documents: dict[str, Document] = {}
    asked: list[Asked] = []
    supersedes: dict[tuple[str, str], None] = {}
    for entry in read_published(file, list[_Entry], "LongMemEval"):
        if entry.question_type != _UPDATE or entry.question_id.endswith(_UNANSWERABLE):
            continue
        turns = sorted(_split_by_turn(entry), key=lambda turn: turn[0].time or "")
        for document, _ in turns:
            documents.setdefault(document.id, document)
        stating = {
            document.id.partition("#")[0]: document.id for document, answers in turns if answers
        }
        gold = tuple(document.id for document, answers in turns if answers)
        if len(stating) == 2:
            older, newer = stating.values()
            supersedes[newer, older] = None
        asked.append(_to_asked(entry, list(gold)))
    ordered = dict(sorted(documents.items(), key=lambda item: item[1].time or ""))
    return Converted.of(ordered, asked, supersedes)


def _split_by_session(entry: _Entry) -> list[tuple[Document, bool]]:
    """Return each session as a document, and whether it answers the question."""
    return [
        (
            Document(id, "\n".join(turn.text for turn in turns), time=date),
            id in entry.answer_session_ids,
        )
        for id, date, turns in entry.sessions
    ]


def _split_by_turn(entry: _Entry) -> list[tuple[Document, bool]]:
    return [
        (Document(f"{id}#{number}", turn.text, time=date), turn.has_answer)
        for id, date, turns in entry.sessions
        for number, turn in enumerate(turns)
    ]


def _to_asked(entry: _Entry, gold: list[str]) -> Asked:
    question = Question(
        id=entry.question_id,
        text=entry.question,
        stratum=entry.question_type,
        time=entry.question_date,
    )
    answerable = not entry.question_id.endswith(_UNANSWERABLE)
    return Asked(question, str(entry.answer), tuple(dict.fromkeys(gold)) if answerable else ())
