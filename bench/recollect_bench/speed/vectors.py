"""Vectors for a corpus of any size, without embedding every memory.

A local model embeds about a hundred memories per second, so 300,000 would take most of an hour and
measure nothing that matters here. Only some texts are embedded by the model; each memory's vector
is a point between two of those plus an offset, as for texts that share a subject. Queries are
embedded for real. The kind of texts matters: pseudo-words have no meaning, their vectors are close
together, and nearest neighbours are harder to find there than among real texts (docs/adr/0009).
Vectors are copied straight into the table: the queue would write each row three times.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from random import Random
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from psycopg import AsyncConnection
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types.numeric import Int2, Int4

from recollect.core.memory.memory import Memory
from recollect.core.recall.passages import FIRST_SHARE
from recollect.core.recall.space import StoredSpace
from recollect.core.text.passages import Span
from recollect.ports.embedding import Embedder, TokenEmbedder
from recollect_bench.data.datasets import EvaluationSet
from recollect_bench.speed.corpus import Corpus

_MADE_UP_TEXTS: Final = 1_000
_REAL_TEXTS: Final = 14_000
_QUESTIONS: Final = 100
_BATCH: Final = 500
# The length of a memory's own random offset.
_OFFSET: Final = 0.5

_COPY: Final = """
copy embeddings (owner, space_id, memory_id, passage, start_char, end_char, content_hash, vector)
from stdin (format binary)
"""

_COPY_TOKENS: Final = """
copy token_vectors (owner, space_id, memory_id, passage, block) from stdin (format binary)
"""

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Subjects:
    """The texts that the memories' vectors are derived from, and real questions about them, if
    there are any.
    """

    texts: Sequence[str]
    questions: Sequence[str] = ()

    @classmethod
    def made_up(cls, corpus: Corpus, size: int) -> Subjects:
        memories = corpus.memories(0, min(_MADE_UP_TEXTS, size))
        return cls([memory.content for memory in memories])

    @classmethod
    def of_sets(cls, sets: Sequence[EvaluationSet], seed: int) -> Subjects:
        """Sample real texts, and the questions that people asked about them."""
        texts = sorted({document.content for data in sets for document in data.documents})
        questions = sorted({question.text for data in sets for question in data.questions})
        random = Random(seed)
        return cls(
            random.sample(texts, min(_REAL_TEXTS, len(texts))),
            random.sample(questions, min(_QUESTIONS, len(questions))),
        )


@dataclass(frozen=True, slots=True)
class Samples:
    """Some texts as embedded by a model: vectors to interpolate between, and the texts' tokens as a
    worker stores them. A model without a codec has no tokens.
    """

    vectors: Matrix
    blocks: Sequence[bytes] = ()

    def block_of(self, memory: Memory, passage: int = 0) -> bytes:
        """Return the tokens of one of the texts, always the same for the same passage."""
        return self.blocks[(memory.id.int + passage) % len(self.blocks)]


async def make_samples(
    embedder: Embedder, texts: Sequence[str], progress: Callable[[str, int, int], None]
) -> Samples:
    vectors: list[Sequence[float]] = []
    blocks: list[bytes] = []
    codec = embedder.codec if isinstance(embedder, TokenEmbedder) else None
    for start in range(0, len(texts), _BATCH):
        some = texts[start : start + _BATCH]
        if codec is not None and isinstance(embedder, TokenEmbedder):
            embedded = await embedder.embed_documents_with_tokens(some)
            vectors += [each.vector for each in embedded]
            blocks += [
                codec.encode(text, each.tokens)
                for text, each in zip(some, embedded, strict=True)
                if each.tokens is not None
            ]
        else:
            vectors += await embedder.embed_documents(some)
        progress("embedding", len(vectors), len(texts))
    return Samples(np.asarray(vectors, dtype=np.float32), blocks)


def scatter_vectors(among: Matrix, memories: Sequence[Memory], passages: int = 1) -> Matrix:
    """Return vectors for the passages of each memory, memory by memory. They follow from the
    memory's id, so they are the same in every run.
    """
    vectors = [_draw_passages(among, memory.id.int, passages) for memory in memories]
    return _normalize(np.concatenate(vectors))


def spans(text: str, passages: int) -> list[Span | None]:
    """Cut a text into passages of equal length; a short text is not cut."""
    if passages == 1:
        return [None]
    ends = [len(text) * number // passages for number in range(passages + 1)]
    return [Span(*pair) for pair in pairwise(ends)]


async def copy_vectors(
    connection: AsyncConnection[Any],
    space: StoredSpace,
    memories: Sequence[Memory],
    vectors: Matrix,
) -> None:
    """Copy vectors as a worker would store them, the same number for each memory. The memories must
    have no row in this space.
    """
    connection.adapters.register_dumper(np.ndarray, _Halfvec)
    each = len(vectors) // len(memories)
    async with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        for place, memory in enumerate(memories):
            digest: bytes | None = sha256(memory.content.encode()).digest()
            for number, span in enumerate(spans(memory.content, each)):
                key = (memory.owner, Int4(space.id), memory.id, Int2(number))
                start, end = (None, None) if span is None else map(Int4, span)
                await copy.write_row((*key, start, end, digest, vectors[place * each + number]))
                digest = None  # the row of the first passage is the job


async def copy_tokens(
    connection: AsyncConnection[Any],
    space: StoredSpace,
    memories: Sequence[Memory],
    samples: Samples,
    passages: int,
) -> None:
    """Copy tokens for memories that have vectors."""
    async with connection.cursor() as cursor, cursor.copy(_COPY_TOKENS) as copy:
        for memory in memories:
            for number in range(passages):
                key = (memory.owner, Int4(space.id), memory.id, Int2(number))
                await copy.write_row((*key, samples.block_of(memory, number)))


class _Halfvec(Dumper):
    """pgvector's binary form of a `halfvec`: the dimension, an unused number, then the numbers."""

    format = Format.BINARY

    def dump(self, obj: Matrix) -> bytes:
        return struct.pack(">hh", len(obj), 0) + obj.astype(">f2").tobytes()


def _draw_passages(among: Matrix, seed: int, count: int) -> Matrix:
    """Draw the vectors of one memory's passages, each with a share of the first."""
    vectors = np.stack([_draw_vector(among, seed + number) for number in range(count)])
    vectors[1:] = (1 - FIRST_SHARE) * vectors[1:] + FIRST_SHARE * vectors[0]
    return vectors


def _draw_vector(among: Matrix, seed: int) -> Matrix:
    random = np.random.default_rng(seed)
    first, second = among[random.integers(0, len(among), 2)]
    share = np.float32(random.uniform(0, 0.5))
    offset = _normalize(random.standard_normal((1, among.shape[1]), dtype=np.float32))[0]
    vector: Matrix = (1 - share) * first + share * second + np.float32(_OFFSET) * offset
    return vector


def _normalize(vectors: Matrix) -> Matrix:
    lengths: Matrix = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / lengths
