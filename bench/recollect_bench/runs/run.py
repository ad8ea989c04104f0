"""Ask a set's questions under a configuration, through the recall use case itself.

Configurations of one layout differ in how the legs' answers are fused. So a leg's answer is cached
for the next configuration that asks it the same question, and texts are read once. Such a recall
says nothing about latency: `timed` asks some of the questions again, without the cache.
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
"""The number of hits that the deepest metric looks at."""

# Reading all texts of a set at once would return a very large result.
_READ_AT_ONCE: Final = 1_000

# The settings that no leg depends on. A missing one costs time; one too many would give a
# configuration the answers of another.
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
    """What a recall found, and what each leg that ran had found."""

    ranking: tuple[str, ...]
    legs: Mapping[LegName, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Run:
    """One configuration on one set: the answer to every question, by its id, and the duration of
    each recall that was timed.
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
    """A leg that caches its answers, and which documents they are. The leg that `embeds_query`
    passes the query's tokens to the second stage, even if its answer is cached.
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
        """Return the documents of a cached answer."""
        return self._names[_question(request, settings)]


class Runner:
    """Runs configurations on one stage, with a shared cache."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._legs = {
            name: AskedOnce(leg, stage.documents, embeds_query=name == "dense")
            for name, leg in stage.context.legs.items()
        }
        self._texts: InMemoryStore | None = None

    async def run(self, config: Config, progress: Progress, *, timed: int = 0) -> Run:
        """Ask every question; `timed` questions, spread over the set, are asked again and timed."""
        settings = RecallSettings().changed({**config.settings, **UNHURRIED})
        context = await self._build_context(settings)
        data = self._stage.data
        answers: dict[str, Answer] = {}
        for number, question in enumerate(data.questions, start=1):
            answers[question.id] = await self._answer(context, settings, question)
            progress(f"{data.name}: {config.name}", number, len(data.questions))
        took_ms = await self._time_recalls(settings, timed) if timed else ()
        return Run(data.name, config, answers, took_ms)

    async def _build_context(self, settings: RecallSettings) -> Context:
        """Return the stage's context with this configuration's settings as the stored ones."""
        if self._texts is None:
            self._texts = await _load_texts(self._stage)
        rows = InMemoryStore()
        await rows.write_settings(settings.as_dict(), by=OWNER, at=self._stage.context.clock.now())
        return replace(self._stage.context, store=self._texts, settings=rows, legs=dict(self._legs))

    async def _answer(
        self, context: Context, settings: RecallSettings, question: Question
    ) -> Answer:
        request = _request(question)
        found = _check_complete(await recall(context, OWNER, request), question)
        legs = {
            name: leg.found(request, settings)
            for name, leg in self._legs.items()
            if found.legs[name].status == "ran"
        }
        name_of = self._stage.documents
        # Duplicates are served with their hit.
        ranking = tuple(
            name_of[id] for hit in found.hits for id in (hit.memory.id, *hit.duplicates)
        )
        return Answer(ranking, legs)

    async def _time_recalls(self, settings: RecallSettings, count: int) -> tuple[float, ...]:
        context, questions = self._stage.context, self._stage.data.questions
        await context.settings.write_settings(settings.as_dict(), by=OWNER, at=context.clock.now())
        spread = questions[:: max(1, len(questions) // count)][:count]
        return tuple(
            [
                _check_complete(await recall(context, OWNER, _request(question)), question).took_ms
                for question in spread
            ]
        )


async def _load_texts(stage: Stage) -> InMemoryStore:
    """Load the stage's memories into a store that is cheap to read."""
    store, ids = InMemoryStore(), list(stage.documents)
    for first in range(0, len(ids), _READ_AT_ONCE):
        some = await stage.context.store.get_many(OWNER, ids[first : first + _READ_AT_ONCE])
        for memory in some.values():
            await store.add(memory)
    return store


def _check_complete(found: Recollection, question: Question) -> Recollection:
    """Raise unless every leg and stage answered: anything else is not a valid measurement."""
    notes = [f"{name}: {found.legs[name].note}" for name in found.degraded]
    if found.rerank is not None and found.rerank.is_missing:
        notes.append(f"second stage: {found.rerank.note}")
    if notes:
        raise StoreError(
            f"recall was incomplete for the question {question.id}: {'; '.join(notes)}",
            remedy="Run it again; if something was late, on a machine that is less busy.",
        )
    return found


def _request(question: Question) -> RecallRequest:
    scope = EVERYWHERE if question.scope is None else Scope(project=question.scope)
    return RecallRequest(question.text, limit=LIMIT, scope=scope)


def _question(request: RecallRequest, settings: RecallSettings) -> _Question:
    """Return the cache key of a question. It has no time: nothing in a set expires."""
    return request.query, request.scope, _leg_settings(settings)


@lru_cache
def _leg_settings(settings: RecallSettings) -> tuple[tuple[str, object], ...]:
    return tuple(
        (name, value)
        for name, value in settings.as_dict().items()
        if name not in SETTINGS_AFTER_LEGS
    )
