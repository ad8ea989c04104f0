"""A set is stored completely and unchanged, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.bench.made_runs import evaluation_set

from recollect.core.errors import InvalidInput, ModelUnavailable
from recollect.core.recall.background import read_background
from recollect.core.recall.request import RecallRequest
from recollect.core.recall.space import Space
from recollect.ports.embedding import Embedder
from recollect.usecases.recall.recall import recall
from recollect_bench.data.datasets import Document, EvaluationSet, Question
from recollect_bench.runs.configs import Embedded, Layout
from recollect_bench.runs.stage import OWNER, staged, wake

pytestmark = pytest.mark.anyio

DATA = evaluation_set("facts", ["all"] * 12)


def _quiet(*_: object) -> None:
    pass


@dataclass
class Model:
    """A model to which all texts are alike, except those of the background. It fails on a text
    that contains `refused`, and on its first `sleeping` queries.
    """

    refused: str = "nothing"
    sleeping: int = 0
    seen: list[str] = field(default_factory=list)
    space: Space = field(default_factory=lambda: Space("test", "1", 3))
    is_hosted: bool = False

    async def embedder(self, name: str) -> Embedder:
        return self

    def at_once(self, texts: Sequence[str]) -> int:
        return len(texts)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        if any(self.refused in text for text in texts):
            raise ValueError(self.refused)
        self.seen += texts
        return [[0.0, 1.0, 0.0] if text in read_background() else [1.0, 0.0, 0.0] for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        if self.sleeping:
            self.sleeping -= 1
            raise ModelUnavailable("still asleep", remedy="Wait.")
        return [1.0, 0.0, 0.0]


async def test_every_document_is_stored_with_its_time_and_scope(tmp_path: Path) -> None:
    moment = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    document = Document("a", "The dog is called Rex.", "Pets", "home", "1:56 pm on 8 May, 2023")
    data = EvaluationSet("set", (document, Document("b", "No title.")), (), {}, "")
    async with staged(data, Layout(engine="sqlite"), None, tmp_path, _quiet) as stage:
        stored = await stage.context.store.get_many(OWNER, list(stage.documents))
        assert sorted(stage.documents.values()) == ["a", "b"]
        by_name = {stage.documents[id]: memory for id, memory in stored.items()}
    assert by_name["a"].content == "Pets\nThe dog is called Rex."
    assert (by_name["a"].created_at, by_name["a"].project) == (moment, "home")
    assert (by_name["b"].content, by_name["b"].project) == ("No title.", None)


async def test_ids_are_the_same_in_every_run(tmp_path: Path) -> None:
    ids = []
    for name in ("1", "2"):
        async with staged(DATA, Layout(engine="sqlite"), None, tmp_path / name, _quiet) as stage:
            ids.append(stage.documents)
    assert ids[0] == ids[1]


async def test_documents_are_embedded_and_the_model_is_waited_for(empty_database_url: str) -> None:
    model = Model(sleeping=2)
    async with staged(DATA, Layout(), model, empty_database_url, _quiet) as stage:
        found = await recall(stage.context, OWNER, RecallRequest("zebra", limit=20))
    assert {document.content for document in DATA.documents} <= set(model.seen)
    assert len(found.hits) == len(DATA.documents)
    assert found.legs["dense"].status == "ran"


@pytest.mark.parametrize(("embedded", "expected"), [("content", False), ("first", True)])
async def test_a_long_text_is_embedded_in_passages_or_as_one(
    tmp_path: Path, embedded: Embedded, expected: bool
) -> None:
    text = "A sentence of a long text. " * 200
    data = EvaluationSet("long", (Document("a", text, title="Long"),), (), {}, "")
    model = Model()
    async with staged(data, Layout("sqlite", embedded=embedded), model, tmp_path, _quiet):
        assert (f"Long\n{text}".strip() in model.seen) is expected


async def test_without_a_model_the_dense_leg_is_absent(empty_database_url: str) -> None:
    async with staged(DATA, Layout(), None, empty_database_url, _quiet) as stage:
        found = await recall(stage.context, OWNER, RecallRequest("fact"))
    assert found.legs["dense"].status == "absent"


GIVEN = EvaluationSet(
    "given",
    (Document("a", "she was born there"), Document("b", "it lies by the sea"), Document("c", "no")),
    (Question("q", "Where is Ada Byron from?", "all"),),
    {"q": {"b": 1}},
    "",
    facts=(
        '{"doc": "a", "entities": ["Ada Byron"], "triples": [["Ada Byron", "born in", "Dover"]]}',
        '{"doc": "b", "entities": ["Dover", "Ada Byron"]}',
    ),
)


async def test_given_facts_are_the_whole_graph(empty_database_url: str) -> None:
    """The rules add nothing, and the documents' ids are mapped to memories. To this model all
    names are alike, so either may be on the path.
    """
    layout = Layout(graph="given")
    async with staged(GIVEN, layout, Model(), empty_database_url, _quiet) as stage:
        found = await recall(stage.context, OWNER, RecallRequest("Where is Ada Byron from?"))
    assert found.legs["graph"].status == "ran"
    paths = {stage.documents[hit.memory.id]: hit.legs["graph"].path for hit in found.hits}
    assert paths["b"][-1] in ("Ada Byron", "Dover")
    assert paths["c"] == ()


async def test_stage_reports_unusable_facts(empty_database_url: str) -> None:
    data = replace(GIVEN, facts=('{"doc": "z", "entities": ["Dover"]}',))
    layout = Layout(graph="given")
    with pytest.raises(InvalidInput, match="no fact given for given could be used; line 1: 'z'"):
        async with staged(data, layout, Model(), empty_database_url, _quiet):
            pytest.fail("measured without a graph")


async def test_stage_fails_when_a_text_cannot_be_embedded(empty_database_url: str) -> None:
    """A leg that silently lacks a memory would be measured as if it were worse than it is."""
    model = Model(refused="number 7 ")
    with pytest.raises(ModelUnavailable, match="embedded 11 of 12 memories of facts"):
        async with staged(DATA, Layout(), model, empty_database_url, _quiet):
            pytest.fail("measured without a text")


async def test_stage_reports_a_model_that_never_loads() -> None:
    with pytest.raises(ModelUnavailable, match="still asleep"):
        await wake(Model(sleeping=10_000), max_seconds=0.0)
