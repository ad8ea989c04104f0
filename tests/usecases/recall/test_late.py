"""The second stage by late interaction: the order it makes, and when the fused order remains."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from tests.usecases.legs import candidates
from tests.usecases.vectors import SPACE, AllVectors, MeaningEmbedder, OneEmbedder

from recollect.adapters.models.embedders.token_codec import ScalarCodec
from recollect.core.errors import ModelUnavailable
from recollect.core.memory.links import Link
from recollect.core.memory.memory import Draft, Memory
from recollect.core.recall.context import RecallContext
from recollect.core.recall.late import EmbeddedText, TokenVectors
from recollect.core.recall.request import Candidate, RecallRequest, Recollection, SortBy
from recollect.core.recall.space import StoredSpace
from recollect.core.text.passages import Span
from recollect.ports.embedding import TokenCodec
from recollect.usecases.admin.settings import change_settings
from recollect.usecases.context import Context
from recollect.usecases.memory.remember import remember
from recollect.usecases.recall.late import LateStage
from recollect.usecases.recall.recall import recall
from recollect.usecases.recall.why import why
from recollect_bench.in_memory import InMemoryStore

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """Real time: the comparison runs in a thread."""
    return "asyncio"


WIDTH = 64
STORED = StoredSpace(1, "meanings", SPACE, "active")
CODEC = ScalarCodec(
    np.zeros(WIDTH, np.float32), np.eye(WIDTH, dtype=np.float32), np.full(WIDTH, 0.125)
)


def read_tokens(text: str) -> TokenVectors:
    """Return a vector for each word, the same for the same word."""
    spans = [match.span() for match in re.finditer(r"\w+", text)]
    vectors = [
        np.random.default_rng(sum(map(ord, text[start:end].lower()))).normal(size=WIDTH)
        for start, end in spans
    ]
    unit = [vector / np.linalg.norm(vector) for vector in vectors]
    return TokenVectors(WIDTH, tuple(spans), np.array(unit, "<f4").tobytes())


def encode(text: str) -> bytes:
    return CODEC.encode(text, read_tokens(text))


@dataclass
class WordEmbedder(MeaningEmbedder):
    """Knows which words are alike: equal ones."""

    codec: TokenCodec | None = CODEC

    async def embed_documents_with_tokens(self, texts: Sequence[str]) -> list[EmbeddedText]:
        return [EmbeddedText(self._vector(text), read_tokens(text)) for text in texts]

    async def embed_query_with_tokens(self, text: str) -> EmbeddedText:
        return EmbeddedText(self._vector(text), read_tokens(text))


@dataclass
class StoredTokens(AllVectors):
    """An index with the token vectors of all memories, unless a test changes them."""

    tokens: dict[UUID, bytes] = field(default_factory=dict)
    error: Exception | None = None
    hangs: bool = False
    asked: Mapping[UUID, Span | None] = field(default_factory=dict)

    async def token_vectors(
        self, owner: str, space: StoredSpace, passages: Mapping[UUID, Span | None]
    ) -> dict[UUID, bytes]:
        self.asked = passages
        if self.error is not None:
            raise self.error
        if self.hangs:
            await asyncio.Event().wait()
        return {id: self.tokens[id] for id in passages if id in self.tokens}


@dataclass
class Setup:
    context: Context
    vectors: StoredTokens
    embedder: WordEmbedder
    memories: list[Memory]

    async def recall(self, query: str = "blue boat", **fields: Any) -> Recollection:
        return await recall(self.context, "me", replace(RecallRequest(query), **fields))


TEXTS = ("red car", "green car", "old blue boat", "blue house")


@pytest.fixture
async def setup(context: Context, store: InMemoryStore) -> Setup:
    """The dense leg returns the memories in the order of TEXTS, with close scores."""
    memories = [await remember(context, "me", Draft(text)) for text in TEXTS]
    embedder = WordEmbedder()
    embedders = OneEmbedder(embedder)
    vectors = StoredTokens(store, stored=STORED)
    vectors.tokens = {memory.id: encode(memory.content) for memory in memories}

    async def dense(context: RecallContext) -> list[Candidate]:
        embedded = await embedder.embed_query_with_tokens(context.request.query)
        context.encoded.keep(STORED, embedded.tokens, trust=1.0)
        return candidates(*memories)

    context = replace(context, legs={"dense": dense}, late=LateStage(vectors, embedders))
    # A busy machine must return the same order.
    patient = {"deadline_ms": 60_000, "rerank_timeout_ms": 10_000}
    changes = {"lexical_weight": 0.0, "min_relevance": 0.0, **patient}
    await change_settings(context, "me", changes)
    return Setup(context, vectors, embedder, memories)


def contents(answer: Recollection) -> list[str]:
    return [hit.memory.content for hit in answer.hits]


def status(answer: Recollection) -> tuple[str, str, str | None]:
    assert answer.rerank is not None
    return answer.rerank.stage, answer.rerank.status, answer.rerank.note


async def test_a_memory_with_the_words_of_the_query_moves_up(setup: Setup) -> None:
    answer = await setup.recall()
    assert contents(answer).index("old blue boat") < contents(answer).index("green car")
    assert status(answer) == ("late", "ran", None)
    assert answer.rerank is not None
    assert answer.rerank.reranked == 4


async def test_a_hit_says_which_words_matched(setup: Setup) -> None:
    answer = await setup.recall()
    (hit,) = [hit for hit in answer.hits if hit.memory.content == "old blue boat"]
    assert hit.rerank is not None
    assert hit.rerank.former_place == 3
    matched = {word.word: hit.memory.content[word.start : word.end] for word in hit.rerank.words}
    assert matched == {"blue": "blue", "boat": "boat"}
    # Two memories are blue and one is a boat.
    boat, blue = hit.rerank.words
    assert (boat.word, blue.word) == ("boat", "blue")
    assert boat.weight > blue.weight


async def test_why_says_which_words_matched(setup: Setup) -> None:
    report = await why(setup.context, "me", str(setup.memories[2].id), RecallRequest("blue boat"))
    assert report.rerank is not None
    assert {word.word for word in report.rerank.words} == {"blue", "boat"}
    assert report.second_stage is not None
    assert report.second_stage.stage == "late"


async def test_off_means_no_second_stage(setup: Setup) -> None:
    await change_settings(setup.context, "me", {"second_stage": "off"})
    answer = await setup.recall()
    assert contents(answer) == list(TEXTS)
    assert answer.rerank is None


@pytest.mark.parametrize("sort_by", ["importance", "recency"])
async def test_the_stage_runs_only_by_relevance(setup: Setup, sort_by: SortBy) -> None:
    answer = await setup.recall(sort_by=sort_by)
    assert answer.rerank is None
    assert all(hit.rerank is None for hit in answer.hits)


async def test_hits_behind_the_depth_keep_their_places(setup: Setup) -> None:
    for number in range(4):
        memory = await remember(setup.context, "me", Draft(f"blue boat {number}"))
        setup.memories.append(memory)
        setup.vectors.tokens[memory.id] = encode(memory.content)
    await change_settings(setup.context, "me", {"rerank_depth": 5})
    answer = await setup.recall()
    assert contents(answer)[5:] == ["blue boat 1", "blue boat 2", "blue boat 3"]
    assert [hit.rerank is not None for hit in answer.hits] == [True] * 5 + [False] * 3


async def test_a_memory_without_tokens_keeps_its_place(setup: Setup) -> None:
    del setup.vectors.tokens[setup.memories[1].id]
    answer = await setup.recall()
    assert contents(answer)[1] == "green car"
    assert answer.hits[1].rerank is None
    assert answer.rerank is not None
    assert answer.rerank.reranked == 3


async def test_a_long_text_is_judged_by_the_passage_that_the_dense_leg_found(setup: Setup) -> None:
    found = Span(700, 900)

    async def dense(context: RecallContext) -> list[Candidate]:
        embedded = await setup.embedder.embed_query_with_tokens(context.request.query)
        context.encoded.keep(STORED, embedded.tokens, trust=1.0)
        first, *others = candidates(*setup.memories)
        return [first._replace(passage=found), *others]

    await recall(replace(setup.context, legs={"dense": dense}), "me", RecallRequest("blue boat"))
    first, *others = (memory.id for memory in setup.memories)
    assert setup.vectors.asked == {first: found, **dict.fromkeys(others)}


async def test_no_tokens_at_all_leave_the_fused_order(setup: Setup) -> None:
    setup.vectors.tokens.clear()
    answer = await setup.recall()
    assert contents(answer) == list(TEXTS)
    assert status(answer) == ("late", "skipped", "none of the first hits has token vectors")


@pytest.mark.parametrize("blob", [b"", b"\xff" * 40, b"\x01garbage"])
async def test_damaged_tokens_leave_a_memory_in_its_place(setup: Setup, blob: bytes) -> None:
    setup.vectors.tokens[setup.memories[0].id] = blob
    answer = await setup.recall()
    assert contents(answer)[0] == "red car"
    assert answer.hits[0].rerank is None
    assert status(answer) == ("late", "ran", None)


async def test_tokens_of_another_codec_are_not_compared(setup: Setup) -> None:
    other = ScalarCodec(np.ones(WIDTH), np.eye(WIDTH), np.ones(WIDTH))
    for memory in setup.memories:
        setup.vectors.tokens[memory.id] = other.encode(memory.content, read_tokens(memory.content))
    answer = await setup.recall()
    assert contents(answer) == list(TEXTS)
    assert status(answer)[1] == "skipped"


async def test_a_model_without_a_codec_has_no_second_stage(setup: Setup) -> None:
    setup.embedder.codec = None
    answer = await setup.recall()
    assert contents(answer) == list(TEXTS)
    assert status(answer) == ("late", "skipped", "meanings has no token vectors")


async def test_tokens_count_as_far_as_the_model_knows_the_language(setup: Setup) -> None:
    async def at(trust: float) -> Recollection:
        async def dense(context: RecallContext) -> list[Candidate]:
            context.encoded.keep(STORED, read_tokens(context.request.query), trust)
            return candidates(*setup.memories)

        setup.context = replace(setup.context, legs={"dense": dense})
        return await setup.recall()

    fully, little, never = await at(1.0), await at(0.2), await at(0.0)
    assert contents(fully) != contents(little) != contents(never) == list(TEXTS)
    note = "meanings does not know the query's language"
    assert status(never) == ("late", "skipped", note)


async def test_a_query_that_was_not_embedded_skips_the_stage(setup: Setup) -> None:
    async def dense(context: RecallContext) -> list[Candidate]:  # the port's default
        return candidates(*setup.memories)

    setup.context = replace(setup.context, legs={"dense": dense})
    answer = await setup.recall()
    assert contents(answer) == list(TEXTS)
    assert status(answer) == ("late", "skipped", "the query was not embedded")


async def test_a_query_without_words_skips_the_stage(setup: Setup) -> None:
    answer = await setup.recall("?!")
    assert contents(answer) == list(TEXTS)
    assert status(answer) == ("late", "skipped", "the query has no words")


async def test_an_error_of_the_store_leaves_the_fused_order(setup: Setup) -> None:
    setup.vectors.error = ModelUnavailable("it broke", remedy="Fix it.")
    answer = await setup.recall()
    assert contents(answer) == list(TEXTS)
    assert status(answer) == ("late", "failed", "it broke")


async def test_a_timeout_leaves_the_fused_order(setup: Setup) -> None:
    await change_settings(setup.context, "me", {"rerank_timeout_ms": 10})
    setup.vectors.hangs = True
    answer = await setup.recall()
    assert contents(answer) == list(TEXTS)
    assert status(answer) == ("late", "late", "not done within 10 ms: the fused order stands")


async def test_a_successor_does_not_show_the_words_of_what_it_replaces(setup: Setup) -> None:
    new = await remember(
        setup.context, "me", Draft("sold it", links=(Link("supersedes", setup.memories[2].id),))
    )
    answer = await setup.recall()
    (hit,) = [hit for hit in answer.hits if hit.memory.id == new.id]
    assert hit.ranked_as == setup.memories[2].id
    assert hit.rerank is not None
    assert hit.rerank.words == ()
