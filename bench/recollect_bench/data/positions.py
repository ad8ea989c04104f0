"""Long texts with a fact at the start, in the middle or at the end.

They are built from a set of short texts: the text that answers a question is placed among others of
the set. The three versions of a long text differ only in that place, and each place is a scope of
its own, so that the strata `start`, `middle` and `end` can be compared directly.
"""

from __future__ import annotations

import random
from typing import Final

from recollect.core.errors import InvalidInput
from recollect_bench.data.convert import Asked, Converted
from recollect_bench.data.datasets import Document, EvaluationSet, Question

PLACES: Final = ("start", "middle", "end")


def place_facts(source: EvaluationSet, questions: int, length: int, seed: int) -> Converted:
    """Build long texts of about `length` characters from up to `questions` questions that a single
    text answers.
    """
    chance = random.Random(seed)
    by_id = {document.id: document for document in source.documents}
    answers = {
        question.id: by_id[next(iter(source.gold[question.id]))]
        for question in source.questions
        if len(source.gold.get(question.id, ())) == 1
    }
    chosen = [question for question in source.questions if question.id in answers]
    chance.shuffle(chosen)
    chosen = chosen[:questions]
    facts = {answers[question.id].id for question in chosen}
    others = [document.content for document in source.documents if document.id not in facts]
    if not chosen or not others:
        raise InvalidInput(
            f"{source.name} has no questions with a single answer, or no other texts",
            field="set",
            remedy="Choose a set with more texts.",
        )
    documents: dict[str, Document] = {}
    asked: list[Asked] = []
    for number, question in enumerate(chosen):
        fact = answers[question.id].content
        around = _fill(others, length - len(fact), chance)
        for place in PLACES:
            at = {"start": 0, "middle": len(around) // 2, "end": len(around)}[place]
            text = "\n\n".join((*around[:at], fact, *around[at:]))
            id = f"{number}-{place}"
            documents[id] = Document(id, text, title=f"Document {number}", scope=place)
            asked.append(
                Asked(Question(id, question.text, place, scope=place), answer=None, gold=(id,))
            )
    return Converted.of(documents, asked)


def _fill(texts: list[str], length: int, chance: random.Random) -> list[str]:
    found: list[str] = []
    while sum(map(len, found)) < length:
        found.append(chance.choice(texts))
    return found
