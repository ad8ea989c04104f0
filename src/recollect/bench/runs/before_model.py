"""What stands before a model in a benchmark changes how documents are embedded, nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.core.recall.space import Space
from recollect.ports.embedding import Embedder


class BeforeModel:
    """All of an embedder but its documents, as its model has it."""

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

    async def embed_query(self, text: str) -> list[float]:
        return await self._model.embed_query(text)
