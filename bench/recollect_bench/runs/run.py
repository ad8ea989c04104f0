"""Ask a set's questions under a configuration, through the recall use case itself.

Configurations of one layout differ in how the legs' answers are fused, so a leg is asked a question
once and its answer kept for the next configuration that asks it the same, and texts are read once.
Such a recall says nothing of how long one takes: `timed` asks some of the questions again, with
nothing kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final
from uuid import UUID

from recollect.core.errors import StoreError
from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.core.recall.context import EncodedQuery, RecallContext
from recollect.core.recall.request import (
    LEGS,
    Candidate,
    Declined,
    LegName,
    RecallRequest,
    Recollection,
)
from recollect.core.recall.settings import RecallSettings
from recollect.ports.recall import Leg
from recollect.usecases.context import Context
from recollect.usecases.recall.recall import recall
from recollect_bench.data.datasets import Question
from recollect_bench.in_memory import InMemoryStore
from recollect_bench.runs.configs import UNHURRIED, Config
from recollect_bench.runs.stage import OWNER, Progress, Stage

LIMIT: Final = 20
"""As many hits as the deepest metric looks at."""

# Reading all of a set's texts at once would be one very large answer.
_READ_AT_ONCE: Final = 1_000

# The settings that no leg looks at. One that is missing here costs time; one too many would hand a
# configuration another one's answers.
SETTINGS_AFTER_LEGS: Final = frozenset(
    (
        *(f"{leg}_weight" for leg in LEGS),
        *(
            "fusion",
            "vote",
            "rrf_k",
            "prior_strength",
            "min_relevance",
            "deadline_ms",
        ),
        *("rerank_depth", "rerank_timeout_ms", "newer_first"),
    )
)

_Question = tuple[str, Scope, tuple[tuple[str, object], ...]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a recall found, and what each leg that took part had found."""

    ranking: tuple[str, ...]
    legs: Mapping[LegName, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Run:
    """One configuration on one set: an answer to every question, by its id; and the milliseconds
    that single recalls took, where they were timed.
    """

    set_name: str
    config: Config
    answers: Mapping[str, Answer]
    took_ms: tuple[float, ...] = ()

    @property
    def ranking(self) -> dict[str, Sequence[str]]:
        return {id: answer.ranking for id, answer in self.answers.items()}


@dataclass(slots=True)
class AskedOnce:
    """A leg that remembers its answers, and which documents they are. The one that `embeds_query`
    leaves the query's tokens to the second stage, also when it is not asked again.
    """

    leg: Leg
    documents: Mapping[UUID, str]
    embeds_query: bool = False
    _known: dict[_Question, Sequence[Candidate] | Declined] = field(default_factory=dict)
    _names: dict[_Question, tuple[str, ...]] = field(default_factory=dict)
    _encoded: dict[_Question, EncodedQuery] = field(default_factory=dict)

    async def __call__(self, context: RecallContext) -> Sequence[Candidate] | Declined:
        key = _question(context.request, context.settings)
        if key not in self._known:
            found = await self.leg(context)
            self._known[key] = found
            if self.embeds_query:
                self._encoded[key] = context.encoded
            listed = () if isinstance(found, Declined) else found
            self._names[key] = tuple(self.documents[item.id] for item in listed)
        if (encoded := self._encoded.get(key)) is not None:
            context.encoded.keep(encoded.space, encoded.tokens, encoded.trust)
        return self._known[key]

    def found(self, request: RecallRequest, settings: RecallSettings) -> tuple[str, ...]:
        """The documents that it has answered with."""
        return self._names[_question(request, settings)]


class Runner:
    """Runs configurations on one stage; what they ask of it is shared."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._legs = {
            name: AskedOnce(leg, stage.documents, embeds_query=name == "dense")
            for name, leg in stage.context.legs.items()
        }
        self._texts: InMemoryStore | None = None

    async def run(self, config: Config, progress: Progress, *, timed: int = 0) -> Run:
        """`timed`: how many questions, spread over the set, are asked again by the clock."""
        settings = RecallSettings().changed({**config.settings, **UNHURRIED})
        context = await self._parts(settings)
        data = self._stage.data
        answers: dict[str, Answer] = {}
        for number, question in enumerate(data.questions, start=1):
            answers[question.id] = await self._answer(context, settings, question)
            progress(f"{data.name}: {config.name}", number, len(data.questions))
        took_ms = await self._times(settings, timed) if timed else ()
        return Run(data.name, config, answers, took_ms)

    async def _parts(self, settings: RecallSettings) -> Context:
        """The stage's parts, with this configuration's settings as the store's rows."""
        if self._texts is None:
            self._texts = await _texts(self._stage)
        rows = InMemoryStore()
        await rows.write_settings(settings.as_dict(), by=OWNER, at=self._stage.context.clock.now())
        return replace(self._stage.context, store=self._texts, settings=rows, legs=dict(self._legs))

    async def _answer(
        self, context: Context, settings: RecallSettings, question: Question
    ) -> Answer:
        request = _request(question)
        found = _whole(await recall(context, OWNER, request), question)
        legs = {
            name: leg.found(request, settings)
            for name, leg in self._legs.items()
            if found.legs[name].status == "ran"
        }
        name_of = self._stage.documents
        # What says the same is served with the hit.
        ranking = tuple(
            name_of[id] for hit in found.hits for id in (hit.memory.id, *hit.duplicates)
        )
        return Answer(ranking, legs)

    async def _times(self, settings: RecallSettings, count: int) -> tuple[float, ...]:
        context, questions = self._stage.context, self._stage.data.questions
        await context.settings.write_settings(settings.as_dict(), by=OWNER, at=context.clock.now())
        spread = questions[:: max(1, len(questions) // count)][:count]
        return tuple(
            [
                _whole(await recall(context, OWNER, _request(question)), question).took_ms
                for question in spread
            ]
        )


async def _texts(stage: Stage) -> InMemoryStore:
    """The stage's memories where reading one costs nothing."""
    kept, ids = InMemoryStore(), list(stage.documents)
    for first in range(0, len(ids), _READ_AT_ONCE):
        some = await stage.context.store.get_many(OWNER, ids[first : first + _READ_AT_ONCE])
        for memory in some.values():
            await kept.add(memory)
    return kept


def _whole(found: Recollection, question: Question) -> Recollection:
    """A recall in which everything that should answer did: anything else is no measurement."""
    notes = [f"{name}: {found.legs[name].note}" for name in found.degraded]
    if found.rerank is not None and found.rerank.is_missing:
        notes.append(f"second stage: {found.rerank.note}")
    if notes:
        raise StoreError(
            f"not all that should answer the question {question.id} did: {'; '.join(notes)}",
            remedy="Run it again, on a machine that is less busy if it was late.",
        )
    return found


def _request(question: Question) -> RecallRequest:
    scope = EVERYWHERE if question.scope is None else Scope(project=question.scope)
    return RecallRequest(question.text, limit=LIMIT, scope=scope)


def _question(request: RecallRequest, settings: RecallSettings) -> _Question:
    """The same whenever it is asked: nothing in a set expires."""
    return request.query, request.scope, _seen_by_legs(settings)


@lru_cache
def _seen_by_legs(settings: RecallSettings) -> tuple[tuple[str, object], ...]:
    return tuple(
        (name, value)
        for name, value in settings.as_dict().items()
        if name not in SETTINGS_AFTER_LEGS
    )
