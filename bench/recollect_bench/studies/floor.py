"""What a relevance floor lets through, on answerable and unanswerable prompts.

Answerable prompts are a set's own questions on its own store: how many of them get a memory that
answers them? Unanswerable ones are the set's prompts without an answer, the questions of sets about
other subjects, and prompts that developers type all day: how many of them get any memory at all?
Each is asked the way a hook asks, once on a local store and once on a server's, whose dense leg
finds memories by meaning.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.core.recall.relevance import FLOOR, accompanies, mark_hits
from recollect.core.recall.request import Hit, RecallRequest
from recollect.usecases.agents.inject import LIMIT
from recollect.usecases.service import LocalService
from recollect_bench.data.datasets import EvaluationSet, Question
from recollect_bench.runs.stage import OWNER, Progress, Stage

QUESTIONS: Final = 300
QUESTIONS_PER_OTHER_SET: Final = 30
# Sets about the same subjects: their questions may be answerable on each other's stores.
_FAMILIES: Final[Mapping[str, str]] = {
    "hotpot_train100": "wiki",
    "2wiki_train500": "wiki",
    "musique_train100_openie": "wiki",
    "longmemeval_oracle_turn": "longmemeval",
    "longmemeval_oracle_session": "longmemeval",
}
EVERYDAY: Final = tuple(
    """
continue
fix the failing test
run the tests
please commit and push
why does this fail?
refactor this function to be shorter
add type hints to the module
what does this error mean?
looks good, go ahead
write a README for this repo
use a dataclass instead
rename the variable to something clearer
can you explain how the login flow works?
update the dependencies and fix what breaks
add logging to the request handler
make the build faster
the page is blank after the last change, please look into it
undo the last change
open a pull request with these changes
write unit tests for the parser
there is a typo in the docs, fix it
how do I start the server locally?
improve the error message when the file is missing
is there a race condition in this code?
add pagination to the list endpoint
thanks
yes
no, the other file
what's next?
check whether the migration is reversible
use the new API and delete the old one
let's add a dark mode toggle to the settings page
optimise the SQL query in the report job
set up CI for this project with linting and tests
convert this script from bash to python
deploy to staging
bump the version and update the changelog
show me the diff
summarise what you did
""".strip().splitlines()
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt on one store: the marks of what recall brought, and of the answers among it. With
    `is_first`, one of these is injected beside any hit that clears the floor.
    """

    store: str
    kind: str
    stratum: str
    marks: tuple[float, ...]
    answers: tuple[float, ...]
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class FloorRow:
    """One floor: the share of answerable prompts that get an answer (`helped`), over all and by
    stratum, and of unanswerable ones that get any memory: the set's own, other sets' (`strange`)
    and everyday prompts.
    """

    floor: float
    helped: float
    own: float
    strange: float
    everyday: float
    strata: Mapping[str, float]


def table(asked: Sequence[Asked], floors: Sequence[float]) -> list[FloorRow]:
    answerable = [prompt for prompt in asked if prompt.kind == "answerable"]
    strata = sorted({prompt.stratum for prompt in answerable})

    def helped(floor: float, stratum: str | None = None) -> float:
        return _percent(
            max(prompt.marks if prompt.is_first else prompt.answers, default=-1.0) >= floor
            for prompt in answerable
            if stratum in (None, prompt.stratum)
        )

    def disturbed(floor: float, kind: str) -> float:
        return _percent(
            max(prompt.marks, default=-1.0) >= floor for prompt in asked if prompt.kind == kind
        )

    return [
        FloorRow(
            floor,
            helped(floor),
            disturbed(floor, "unanswerable"),
            disturbed(floor, "strange"),
            disturbed(floor, "everyday"),
            {stratum: helped(floor, stratum) for stratum in strata},
        )
        for floor in floors
    ]


def build_prompts(
    here: EvaluationSet, sets: Sequence[EvaluationSet], seed: int
) -> Iterator[tuple[str, Question]]:
    """Yield the prompts for one store: its own questions, its unanswerable ones, other sets'
    questions in one of its scopes, and everyday prompts in each of its scopes.
    """
    chooser = random.Random(seed)
    own = chooser.sample(here.questions, min(QUESTIONS, len(here.questions)))
    yield from (("answerable", question) for question in own)
    yield from (("unanswerable", question) for question in here.unanswerable)
    scopes = list(dict.fromkeys(question.scope for question in here.questions))
    for other in sets:
        if _family(other.name) != _family(here.name):
            some = chooser.sample(
                other.questions, min(QUESTIONS_PER_OTHER_SET, len(other.questions))
            )
            yield from (
                ("strange", replace(question, scope=chooser.choice(scopes))) for question in some
            )
    yield from (
        ("everyday", Question(text, text, "", scope)) for text in EVERYDAY for scope in scopes
    )


async def ask(
    stage: Stage, asked: Sequence[tuple[str, Question]], progress: Progress
) -> tuple[list[Asked], list[Asked]]:
    """Each prompt through recall, as the hook asks it: the marks of all hits by words, and by
    meaning. Beside meaning, what clears the floor by words clears every floor.
    """
    recollect = LocalService(stage.context, OWNER)
    words: list[Asked] = []
    meaning: list[Asked] = []
    for number, (kind, question) in enumerate(asked, start=1):
        scope = EVERYWHERE if question.scope is None else Scope(project=question.scope)
        found = await recollect.recall(RecallRequest(question.text, limit=LIMIT, scope=scope))
        marks = mark_hits(question.text, found.hits)
        by_words = [mark.words for mark in marks]
        by_meaning = [inf if mark.words >= FLOOR else mark.meaning for mark in marks]
        words.append(_to_asked(stage, kind, question, found.hits, by_words))
        meaning.append(_to_asked(stage, kind, question, found.hits, by_meaning))
        progress(f"{stage.data.name}: asking", number, len(asked))
    return words, meaning


def _to_asked(
    stage: Stage, kind: str, question: Question, hits: Sequence[Hit], marks: Sequence[float]
) -> Asked:
    gold = stage.data.gold.get(question.id, {}) if kind == "answerable" else {}
    answers = [place for place, hit in enumerate(hits) if stage.documents[hit.memory.id] in gold]
    return Asked(
        stage.data.name,
        kind,
        question.stratum,
        tuple(marks),
        tuple(marks[place] for place in answers),
        any(accompanies(place, hits[place]) for place in answers),
    )


def _percent(outcomes: Iterator[bool]) -> float:
    known = list(outcomes)
    return round(100 * sum(known) / len(known), 1) if known else 0.0


def _family(name: str) -> str:
    return _FAMILIES.get(name.partition("@")[0], name.partition("@")[0])
