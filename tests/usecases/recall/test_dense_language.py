"""A model counts little where the query is in a language that it was not made for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.conformance.samples import memory
from tests.recall_contexts import recall_context
from tests.usecases.legs import candidates
from tests.usecases.vectors import SPACE, AllVectors, MeaningEmbedder, OneEmbedder

from recollect.core.recall.relevance import MEANING_FLOOR
from recollect.core.recall.request import UNKNOWN_EVIDENCE, Declined, RecallRequest
from recollect.core.recall.space import SAME_SCRIPT, Space
from recollect.usecases.recall.dense import dense_leg
from recollect.usecases.recall.legs import LegOutcome
from recollect_bench.in_memory import InMemoryStore

pytestmark = pytest.mark.anyio

ENGLISH = replace(SPACE, languages=frozenset({"en"}))
BOTH = replace(SPACE, languages=frozenset({"en", "de", "ja"}))
GERMAN = "Wann wird das Auto in der Werkstatt repariert?"


@pytest.mark.parametrize(
    ("space", "query", "trust"),
    [
        (ENGLISH, "When will the car be repaired?", 1.0),
        (ENGLISH, GERMAN, SAME_SCRIPT),
        (ENGLISH, "車はいつ修理されますか", 0.0),
        (ENGLISH, "OrderService はどこで動いていますか", 0.0),
        (ENGLISH, "Когда починят машину?", 0.0),
        (ENGLISH, "OrderService", 1.0),
        (ENGLISH, "42", 1.0),
        (BOTH, GERMAN, 1.0),
        (BOTH, "車はいつ修理されますか", 1.0),
        (SPACE, GERMAN, 1.0),  # the languages of a model may be unknown
    ],
)
async def test_trust_depends_on_the_language_of_the_query(
    store: InMemoryStore, space: Space, query: str, trust: float
) -> None:
    await store.add(memory(1, "automobile", owner="me"))
    vectors = AllVectors(store)
    await vectors.embed("me")
    leg = dense_leg(vectors, OneEmbedder(MeaningEmbedder(space)))
    found = await leg(recall_context(RecallRequest(query)))
    assert not isinstance(found, Declined)
    assert [candidate.trust for candidate in found] == [trust]


async def test_in_another_script_a_model_has_too_little_evidence_for_a_hook(
    store: InMemoryStore,
) -> None:
    await store.add(memory(1, "automobile", owner="me"))
    vectors = AllVectors(store)
    await vectors.embed("me")
    query = recall_context(RecallRequest("car はいつ修理されますか"))

    async def evidence(space: Space) -> float:
        found = await dense_leg(vectors, OneEmbedder(MeaningEmbedder(space)))(query)
        assert not isinstance(found, Declined)
        return found[0].evidence

    assert await evidence(BOTH) > UNKNOWN_EVIDENCE
    assert await evidence(ENGLISH) == 0.49 < UNKNOWN_EVIDENCE < MEANING_FLOOR


@pytest.mark.parametrize(("trust", "weight"), [(1.0, 0.65), (0.2, 0.13), (0.0, 0.0)])
def test_the_report_shows_the_effective_weight(trust: float, weight: float) -> None:
    found = [candidate._replace(trust=trust) for candidate in candidates(memory(1))]
    report = LegOutcome.answered(found, 0.65, 1.0).report
    assert report.weight == weight
    assert (report.note is None) == (trust == 1.0)
