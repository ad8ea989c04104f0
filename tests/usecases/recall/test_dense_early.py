"""The dense leg's model works while the store is still asked which model is the right one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field

import pytest
from tests.recall_contexts import recall_context
from tests.usecases.vectors import SPACE, AllVectors, MeaningEmbedder

from recollect.core.errors import ModelUnavailable
from recollect.core.memory.memory import Scope
from recollect.core.recall.request import Candidate, Declined, RecallRequest
from recollect.core.recall.space import Space, StoredSpace, Survey
from recollect.ports.embedding import Embedder
from recollect.ports.recall import Leg
from recollect.usecases.recall.dense import dense_leg
from recollect_bench.in_memory import InMemoryStore

pytestmark = pytest.mark.anyio

OTHER = Space("others", "1", 3)
FIRST, SECOND = StoredSpace(1, "first", SPACE, "active"), StoredSpace(2, "second", OTHER, "active")


@dataclass
class Watched(AllVectors):
    """Records which models were asked before it answered."""

    models: Mapping[str, MeaningEmbedder] = field(default_factory=dict)
    asked_before: list[str] = field(default_factory=list)

    async def survey(self, owner: str, scope: Scope) -> Survey:
        for _ in range(3):
            await asyncio.sleep(0)  # lets other tasks run meanwhile
        self.asked_before = [name for name, model in self.models.items() if model.asked]
        return await super().survey(owner, scope)


@dataclass(frozen=True)
class Named:
    """Implements Embedders."""

    models: Mapping[str, MeaningEmbedder]

    async def embedder(self, name: str) -> Embedder:
        return self.models[name]


@dataclass
class Setup:
    vectors: Watched
    models: Mapping[str, MeaningEmbedder]
    leg: Leg

    async def ask(self, query: str) -> list[Candidate] | Declined:
        for model in self.models.values():
            model.asked.clear()
        found = await self.leg(recall_context(RecallRequest(query)))
        return found if isinstance(found, Declined) else [*found]

    @property
    def asked(self) -> dict[str, list[str]]:
        return {name: model.asked for name, model in self.models.items() if model.asked}


@pytest.fixture
def setup(store: InMemoryStore) -> Setup:
    models = {"first": MeaningEmbedder(), "second": MeaningEmbedder(space=OTHER)}
    vectors = Watched(store, stored=FIRST, models=models)
    return Setup(vectors, models, dense_leg(vectors, Named(models)))


async def test_dense_leg_embeds_with_the_last_model_while_the_store_is_asked(setup: Setup) -> None:
    await setup.ask("car")
    assert setup.vectors.asked_before == []
    await setup.ask("lunch")
    assert setup.vectors.asked_before == ["first"]
    assert setup.asked == {"first": ["lunch"]}
    assert setup.vectors.queries[-1].vector == [0.0, 1.0, 0.0]


async def test_dense_leg_asks_the_model_before_the_store(setup: Setup) -> None:
    """Even if the other legs have work to do first, the model has started."""
    await setup.ask("car")
    begun: list[str] = []

    def embed_query(text: str) -> Coroutine[None, None, list[float]]:
        begun.append(text)
        return MeaningEmbedder.embed_query(setup.models["first"], text)

    async def survey(owner: str, scope: Scope) -> Survey:
        assert begun == ["lunch"]
        return await AllVectors.survey(setup.vectors, owner, scope)

    setup.models["first"].embed_query = embed_query  # type: ignore[method-assign]
    setup.vectors.survey = survey  # type: ignore[method-assign]
    await setup.ask("lunch")
    assert begun == ["lunch"]


async def test_dense_leg_drops_the_vector_when_the_model_has_changed(setup: Setup) -> None:
    await setup.ask("car")
    setup.vectors.stored = SECOND
    await setup.ask("lunch")
    assert setup.asked == {"first": ["lunch"], "second": ["lunch"]}
    assert setup.vectors.queries[-1].space == SECOND
    await setup.ask("lunch")
    assert setup.asked == {"second": ["lunch"]}


async def test_dense_leg_ignores_an_error_of_a_model_it_does_not_need(setup: Setup) -> None:
    await setup.ask("car")
    setup.vectors.stored = SECOND
    setup.models["first"].error = ModelUnavailable("it is gone", remedy="Name another.")
    assert await setup.ask("lunch") == []
    setup.vectors.stored = None
    assert isinstance(await setup.ask("lunch"), Declined)


async def test_dense_leg_raises_the_error_of_the_right_model(setup: Setup) -> None:
    await setup.ask("car")
    setup.models["first"].error = ModelUnavailable("it is gone", remedy="Name another.")
    with pytest.raises(ModelUnavailable, match="gone"):
        await setup.ask("lunch")
    assert setup.asked == {"first": ["lunch"]}, "it is not asked twice"


async def test_dense_leg_sends_nothing_to_another_machine_on_a_guess(
    setup: Setup,
) -> None:
    setup.models["first"].is_hosted = True
    await setup.ask("car")
    await setup.ask("lunch")
    assert setup.vectors.asked_before == []
    assert setup.asked == {"first": ["lunch"]}
