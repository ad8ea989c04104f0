"""A hub's model where there is no hub: recall learns what is missing, and what to do."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from recollect.adapters.rerankers.hub import hub_reranker
from recollect.core.errors import ModelUnavailable


def test_without_fastembed_the_remedy_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # None in this place is Python's own way to say that a module cannot be imported.
    monkeypatch.setitem(sys.modules, "fastembed", None)

    async def run() -> None:
        name = "Xenova/ms-marco-MiniLM-L-6-v2"
        async with hub_reranker(name, cache=tmp_path) as reranker:
            with pytest.raises(ModelUnavailable, match=name) as caught:
                await reranker.scores("query", ["text"])
            assert "pip install fastembed" in caught.value.remedy

    asyncio.run(run())
