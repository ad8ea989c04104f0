"""Vectors are cached between runs, by space and text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from recollect.core.recall.space import Space
from recollect.ports.embedding import Embedder
from recollect_bench.runs.embedding_cache import CachedEmbedder, CachedEmbedders, open_cache

pytestmark = pytest.mark.anyio


@dataclass
class Model:
    """A model whose vectors are text lengths, and which records what it was asked to embed."""

    space: Space
    is_hosted: bool = False
    asked: list[str] = field(default_factory=list)

    def at_once(self, texts: Sequence[str]) -> int:
        return len(texts)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        return [[float(len(text)), 0.5] for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        self.asked.append(text)
        return [float(len(text)), 0.25]

    async def embedder(self, name: str) -> Embedder:
        return self


def _model(revision: str = "1") -> Model:
    return Model(Space("test", revision, 2))


async def test_a_text_is_embedded_once_also_in_another_run(tmp_path: Path) -> None:
    model = _model()
    for _ in range(2):
        with open_cache(tmp_path / "made" / "vectors.db") as cache:
            cached = CachedEmbedder(model, cache)
            vectors = await cached.embed_documents(["a", "bcd", "a"])
            assert vectors == [[1.0, 0.5], [3.0, 0.5], [1.0, 0.5]]
    assert model.asked == ["a", "bcd"]


async def test_only_missing_vectors_are_computed_and_the_order_stays(tmp_path: Path) -> None:
    model = _model()
    with open_cache(tmp_path / "vectors.db") as cache:
        cached = await CachedEmbedders(model, cache).embedder("any")
        await cached.embed_documents(["bb"])
        assert await cached.embed_documents(["a", "bb", "ccc"]) == [[1, 0.5], [2, 0.5], [3, 0.5]]
    assert model.asked == ["bb", "a", "ccc"]


async def test_another_space_has_vectors_of_its_own(tmp_path: Path) -> None:
    one, other = _model("1"), _model("2")
    with open_cache(tmp_path / "vectors.db") as cache:
        for model in (one, other):
            await CachedEmbedder(model, cache).embed_documents(["a"])
            assert CachedEmbedder(model, cache).space == model.space
    assert one.asked == other.asked == ["a"]


async def test_a_query_is_always_embedded_because_it_is_timed(tmp_path: Path) -> None:
    model = _model()
    with open_cache(tmp_path / "vectors.db") as cache:
        cached = CachedEmbedder(model, cache)
        for _ in range(2):
            assert await cached.embed_query("a") == [1, 0.25]
    assert model.asked == ["a", "a"]
