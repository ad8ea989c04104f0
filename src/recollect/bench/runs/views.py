"""Which text of a memory is embedded: the question is settled by trying each.

The product embeds a memory's content, and a turn with those before it. A view stands between the
worker and the model and hands the model another text for the same memory, so that everything else
is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.bench.data.datasets import EvaluationSet
from recollect.bench.runs.before_model import BeforeModel
from recollect.bench.runs.configs import Embedded
from recollect.ports.embedding import Embedder, Embedders


def texts_to_embed(data: EvaluationSet, embedded: Embedded) -> dict[str, str]:
    """For each content that is embedded as something else, as what."""
    if embedded == "text":
        return {document.content: document.text for document in data.documents if document.text}
    if embedded == "window":
        around = zip(
            (None, *data.documents), data.documents, (*data.documents[1:], None), strict=False
        )
        return {
            document.content: "\n".join(
                turn.content
                for turn in (before, document, after)
                if turn is not None and turn.scope == document.scope
            )
            for before, document, after in around
        }
    return {}


class ViewedEmbedder(BeforeModel):
    """A model that is shown a view of each document; queries are what they are."""

    def __init__(self, model: Embedder, views: Mapping[str, str]) -> None:
        super().__init__(model)
        self._views = views

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return await self._model.embed_documents([self._views.get(text, text) for text in texts])


class Viewed:
    """The models of a catalogue, each behind the view."""

    def __init__(self, models: Embedders, views: Mapping[str, str]) -> None:
        self._models = models
        self._views = views

    async def embedder(self, name: str) -> Embedder:
        return ViewedEmbedder(await self._models.embedder(name), self._views)
