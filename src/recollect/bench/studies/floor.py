"""What a relevance floor lets through and what it costs: related and unrelated prompts, measured.

Related are a set's own questions on its own store: of the memories that answer them and that recall
brings, how many does the floor keep away? Unrelated are the questions of sets about something else,
and prompts that developers type all day: to how many of them does anything get through? By words,
the measure needs no store; by meaning, it is the cosine of the default model.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from recollect.bench.data.datasets import EvaluationSet, Question
from recollect.bench.runs.stage import OWNER, Progress, Stage
from recollect.core.memory.memory import Scope
from recollect.core.recall.relevance import relevance, searchable_text
from recollect.core.recall.request import RecallRequest
from recollect.ports.embedding import Embedder
from recollect.usecases.agents.inject import LIMIT
from recollect.usecases.service import LocalService

QUESTIONS: Final = 60
STRANGERS: Final = 30
# Sets whose texts are about the same things: their questions are no strangers to each other.
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
    """One prompt on one store: the marks of what recall brought, and of the answers among it."""

    store: str
    kind: str
    marks: tuple[float, ...]
    answers: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class FloorRow:
    """One floor: `lost` of the recalled answers, `silent` of the questions with one; and the share
    of unrelated prompts, `strange` and `everyday`, to which something gets through.
    """

    floor: float
    lost: float
    silent: float
    strange: float
    everyday: float


def table(asked: Sequence[Asked], floors: Sequence[float]) -> list[FloorRow]:
    def share(of: Sequence[bool]) -> float:
        return round(100 * sum(of) / len(of), 1) if of else 0.0

    def through(kind: str, floor: float) -> float:
        return share(
            [max(prompt.marks, default=0.0) >= floor for prompt in asked if prompt.kind == kind]
        )

    own = [prompt for prompt in asked if prompt.kind == "own" and prompt.answers]
    return [
        FloorRow(
            floor,
            share([mark < floor for prompt in own for mark in prompt.answers]),
            share([max(prompt.answers) < floor for prompt in own]),
            through("strange", floor),
            through("everyday", floor),
        )
        for floor in floors
    ]


def build_prompts(
    here: EvaluationSet, sets: Sequence[EvaluationSet], seed: int
) -> Iterator[tuple[str, Question]]:
    """What is asked of one store: its own questions, strangers', and everyday prompts."""
    chooser = random.Random(seed)
    own = chooser.sample(here.questions, min(QUESTIONS, len(here.questions)))
    yield from (("own", question) for question in own)
    for other in sets:
        if _family(other.name) != _family(here.name):
            some = chooser.sample(other.questions, min(STRANGERS, len(other.questions)))
            yield from (
                ("strange", Question(question.id, question.text, question.stratum))
                for question in some
            )
    yield from (("everyday", Question(text, text, "")) for text in EVERYDAY)


async def ask_words(
    stage: Stage, asked: Sequence[tuple[str, Question]], progress: Progress
) -> list[Asked]:
    """Each prompt through recall on the local store, as the hook asks it."""
    recollect = LocalService(stage.context, OWNER)
    done: list[Asked] = []
    for number, (kind, question) in enumerate(asked, start=1):
        scope = Scope(project=question.scope)
        found = await recollect.recall(RecallRequest(question.text, limit=LIMIT, scope=scope))
        marks = {
            stage.documents[hit.memory.id]: relevance(question.text, searchable_text(hit.memory))
            for hit in found.hits
        }
        done.append(_asked(stage.data, kind, question, marks))
        progress(f"{stage.data.name}: asking by words", number, len(asked))
    return done


async def ask_meaning(
    data: EvaluationSet,
    asked: Sequence[tuple[str, Question]],
    embedder: Embedder,
    progress: Progress,
) -> list[Asked]:
    """The nearest memories of each prompt by cosine, reckoned exactly."""
    vectors = np.asarray(
        await embedder.embed_documents([document.content for document in data.documents]),
        dtype=np.float32,
    )
    scopes = np.array([document.scope or "" for document in data.documents])
    done: list[Asked] = []
    for number, (kind, question) in enumerate(asked, start=1):
        cosines = vectors @ np.asarray(await embedder.embed_query(question.text), dtype=np.float32)
        if question.scope is not None:
            cosines = np.where(scopes == question.scope, cosines, -1)
        nearest = np.argsort(-cosines, kind="stable")[:LIMIT]
        marks = {data.documents[int(place)].id: float(cosines[place]) for place in nearest}
        done.append(_asked(data, kind, question, marks))
        progress(f"{data.name}: asking by meaning", number, len(asked))
    return done


def _asked(data: EvaluationSet, kind: str, question: Question, marks: Mapping[str, float]) -> Asked:
    gold = data.gold.get(question.id, {}) if kind == "own" else {}
    answers = tuple(mark for id, mark in marks.items() if id in gold)
    return Asked(data.name, kind, tuple(marks.values()), answers)


def _family(name: str) -> str:
    return _FAMILIES.get(name, name)
