"""The worker computes token vectors with the vector, from a memory's own words, where used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import pytest
from tests.strategies import MOMENT
from tests.usecases.benches import bench, open_space
from tests.usecases.queues import InMemoryQueue, Model

from recollect.core.recall.late import Comparison, EmbeddedText, TokenVectors
from recollect.core.recall.space import EmbeddingJob, StoredSpace
from recollect.core.text.passages import cut_passages
from recollect.ports.embedding import TokenCodec
from recollect.usecases.workers.embed import embed_batch
from recollect_bench.in_memory import InMemoryStore

pytestmark = pytest.mark.anyio


class Writing:
    """A codec that writes the words themselves."""

    def encode(self, text: str, tokens: TokenVectors, start: int = 0) -> bytes:
        words = " ".join(text[first:last] for first, last in tokens.spans)
        return f"{start}: {words}".encode()

    def compare(
        self, query: str, tokens: TokenVectors, texts: Sequence[bytes]
    ) -> list[Comparison | None]:
        raise NotImplementedError


@dataclass
class TokenModel(Model):
    codec: TokenCodec | None = None

    async def embed_documents_with_tokens(self, texts: Sequence[str]) -> list[EmbeddedText]:
        vectors = await self.embed_documents(texts)
        return [
            EmbeddedText(vector, _tokens(text)) for vector, text in zip(vectors, texts, strict=True)
        ]

    async def embed_query_with_tokens(self, text: str) -> EmbeddedText:
        return EmbeddedText(await self.embed_query(text), _tokens(text))


def _tokens(text: str) -> TokenVectors:
    spans = tuple(match.span() for match in re.finditer(r"\w+", text))
    return TokenVectors(1, spans, bytes(4 * len(spans)))


async def embed(
    model: Model, texts: Sequence[str], second_stage: str | None = None
) -> InMemoryQueue:
    one = bench(0, model)
    one.queue.texts.update({UUID(int=number): text for number, text in enumerate(texts)})
    store = InMemoryStore()
    if second_stage is not None:
        await store.write_settings({"second_stage": second_stage}, by="me", at=MOMENT)
    space = await open_space(one, model)
    await embed_batch(replace(one.context, settings=store), space, known_to_work=True)
    return one.queue


async def test_tokens_come_from_the_pass_that_makes_the_vector() -> None:
    model = TokenModel("m", codec=Writing())
    queue = await embed(model, ["red car", "blue boat"])
    assert queue.tokens == {UUID(int=0): [b"0: red car"], UUID(int=1): [b"0: blue boat"]}
    assert model.asked == [["red car", "blue boat"]]


async def test_a_long_text_has_tokens_for_each_passage() -> None:
    text = " ".join(f"Sentence number {number} says a little more." for number in range(200))
    model = TokenModel("m", codec=Writing())
    queue = await embed(model, [text])
    starts = [span.start for span in cut_passages(text, model.space.window)]
    assert len(starts) > 1
    blocks = [block.decode() for block in queue.tokens[UUID(int=0)]]
    assert [int(block.partition(":")[0]) for block in blocks] == starts


@pytest.mark.parametrize("second_stage", ["off", "cross-encoder"])
async def test_no_tokens_are_stored_when_the_stage_is_off(second_stage: str) -> None:
    queue = await embed(TokenModel("m", codec=Writing()), ["blue boat"], second_stage)
    assert queue.tokens == {}
    assert len(queue.kept) == 1


@pytest.mark.parametrize(
    "model", [Model("m", is_hosted=True), TokenModel("m")], ids=["hosted", "no codec"]
)
async def test_a_model_without_tokens_stores_only_its_vectors(model: Model) -> None:
    queue = await embed(model, ["blue boat"])
    assert queue.tokens == {}
    assert len(queue.kept) == 1


@dataclass
class TurnQueue(InMemoryQueue):
    """Every text is a turn that is read with the one before it."""

    async def claim(
        self, space: StoredSpace, limit: int, max_bytes: int | None = None
    ) -> list[EmbeddingJob]:
        jobs = await super().claim(space, limit, max_bytes)
        return [
            replace(job, text=f"{job.text}\nwhich port?", context_at=len(job.text)) for job in jobs
        ]


async def test_tokens_are_those_of_the_memorys_own_words() -> None:
    model = TokenModel("m", codec=Writing())
    one = bench(0, model)
    queue = TurnQueue({UUID(int=0): "it is 7443"})
    context = replace(one.context, queue=queue, settings=InMemoryStore())
    space = await queue.open_space("m", model.space)
    await embed_batch(context, space, known_to_work=True)
    assert queue.tokens == {UUID(int=0): [b"0: it is 7443"]}
