"""LoCoMo: ten long conversations between two people, in many sessions.

A document is one turn: the speaker's name, the text, and the caption of an attached picture. Every
conversation is a scope of its own: questions are asked within one. The evidence was written by
hand: a text that names several turns is split, and turns that do not exist are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel

from recollect_bench.data.convert import Asked, Converted, read_published
from recollect_bench.data.datasets import Document, Question

CATEGORIES: Final = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
_TURN: Final = re.compile(r"D\d+:\d+")


class _Turn(BaseModel):
    speaker: str
    dia_id: str
    text: str
    blip_caption: str | None = None


class _Question(BaseModel):
    question: str
    category: Literal[1, 2, 3, 4, 5]
    evidence: list[str]
    answer: str | int | None = None
    adversarial_answer: str | None = None


class _Sample(BaseModel):
    """`session_1` etc. hold the turns, `session_1_date_time` etc. when they were said."""

    sample_id: str
    conversation: dict[str, str | list[_Turn]]
    qa: list[_Question]


def locomo(file: Path) -> Converted:
    """Convert `locomo10.json`."""
    documents: dict[str, Document] = {}
    asked: list[Asked] = []
    for sample in read_published(file, list[_Sample], "LoCoMo"):
        turns = {document.id: document for document in _turns(sample)}
        documents |= turns
        asked += [
            _to_asked(sample.sample_id, number, pair, turns)
            for number, pair in enumerate(sample.qa)
        ]
    return Converted.of(documents, asked)


def _turns(sample: _Sample) -> Iterator[Document]:
    for session, turns in sample.conversation.items():
        time = sample.conversation.get(f"{session}_date_time")
        for turn in turns if isinstance(turns, list) else ():
            picture = f" [image: {turn.blip_caption}]" if turn.blip_caption else ""
            yield Document(
                id=f"{sample.sample_id}|{turn.dia_id}",
                text=f"{turn.speaker}: {turn.text}{picture}",
                scope=sample.sample_id,
                time=time if isinstance(time, str) else None,
            )


def _to_asked(scope: str, number: int, published: _Question, turns: Container[str]) -> Asked:
    named = (f"{scope}|{turn}" for text in published.evidence for turn in _TURN.findall(text))
    answer = published.answer
    return Asked(
        Question(
            id=f"{scope}|q{number}",
            text=published.question,
            stratum=CATEGORIES[published.category],
            scope=scope,
        ),
        answer=published.adversarial_answer if answer is None else answer,
        gold=tuple(dict.fromkeys(turn for turn in named if turn in turns)),
    )
