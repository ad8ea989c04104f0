"""Wrappers of a model that change how a benchmark embeds documents, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recollect.core.memory.memory import MAX_CONTENT_LIMIT
from recollect.core.recall.late import EmbeddedText
from recollect.core.recall.space import Space
from recollect.ports.embedding import Embedder, Embedders, TokenCodec, TokenEmbedder


class BeforeModel:
    """Delegates everything but the embedding of documents to its model."""

    def __init__(self, model: Embedder) -> None:
        self._model = model

    @property
    def space(self) -> Space:
        return self._model.space

    @property
    def is_hosted(self) -> bool:
        return self._model.is_hosted

    def at_once(self, texts: Sequence[str]) -> int:
        return self._model.at_once(texts)

    @property
    def codec(self) -> TokenCodec | None:
        return self._model.codec if isinstance(self._model, TokenEmbedder) else None

    async def embed_query(self, text: str) -> list[float]:
        return await self._model.embed_query(text)

    async def embed_query_with_tokens(self, text: str) -> EmbeddedText:
        if isinstance(self._model, TokenEmbedder):
            return await self._model.embed_query_with_tokens(text)
        return EmbeddedText(await self._model.embed_query(text), None)

    async def embed_documents_with_tokens(self, texts: Sequence[str]) -> list[EmbeddedText]:
        """Embed with the model: tokens are too large to cache between runs."""
        if isinstance(self._model, TokenEmbedder):
            return await self._model.embed_documents_with_tokens(texts)
        vectors = await self._model.embed_documents(texts)
        return [EmbeddedText(vector, None) for vector in vectors]


class FirstWindow(BeforeModel):
    """A model that gives a long text a single vector, of as much of its beginning as fits the
    model's window.
    """

    @property
    def space(self) -> Space:
        return replace(self._model.space, window=MAX_CONTENT_LIMIT)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return await self._model.embed_documents(texts)


class FirstWindows:
    """The models of a catalogue, each as a `FirstWindow`."""

    def __init__(self, models: Embedders) -> None:
        self._models = models

    async def embedder(self, name: str) -> Embedder:
        return FirstWindow(await self._models.embedder(name))
