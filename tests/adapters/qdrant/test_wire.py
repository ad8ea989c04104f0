"""Requests to Qdrant compared with a recording, so that a client upgrade that changes them is
noticed.

To record again, after reading the difference: RECOLLECT_TEST_RECORD=1 pytest tests/adapters/qdrant.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from tests.qdrant_loopback import QdrantServer

from recollect.adapters.qdrant.engine import Point, Quantization, connect, to_filter
from recollect.core.errors import StoreBusy, StoreUnavailable
from recollect.core.memory.memory import EVERYWHERE, Scope

pytestmark = pytest.mark.anyio

RECORDING = Path(__file__).parent / "requests.json"
MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
MEMORY, OTHER = UUID(int=1), UUID(int=2)
POINT = Point("ada", MEMORY, 0, True, [1.0, 0.0], "atlas", "s", "note", ("x", "y"), MOMENT)
SCOPE = Scope(
    project="atlas",
    with_global=True,
    sessions=("s", "t"),
    categories=("note",),
    tags=("x", "y"),
    since=MOMENT,
    until=MOMENT,
)


async def test_requests_are_as_recorded(tmp_path: Path) -> None:
    with QdrantServer(tmp_path / "qdrant") as server:
        kinds: tuple[Quantization, ...] = ("off", "scalar", "binary")
        for kind in kinds:
            engine = connect(server.url, None, kind)
            assert not await engine.exists(kind)
            await engine.create(kind, 2)
            await engine.create(kind, 2)
            await engine.write(kind, "ada", [MEMORY, OTHER], [POINT])
            assert await engine.count(kind) == 1
            where = to_filter("ada", EVERYWHERE)
            assert await engine.search(kind, where, [1.0, 0.0], 8) == [MEMORY]
            where = to_filter("ada", SCOPE, {OTHER}, whole=True)
            assert await engine.search(kind, where, [1.0, 0.0], 50) == []
            await engine.write(kind, "ada", [MEMORY], [])
            assert await engine.count(kind) == 0
            await engine.drop(kind)
            await engine.drop(kind)
            assert await engine.version()
            await engine.close()
    sent = [json.loads(json.dumps(request)) for request in server.requests]
    if os.environ.get("RECOLLECT_TEST_RECORD"):
        lines = ",\n".join(json.dumps(request) for request in sent)
        RECORDING.write_text(f"[\n{lines}\n]\n")
    assert sent == json.loads(RECORDING.read_text())


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
async def test_errors_say_what_to_do_and_quote_nothing(tmp_path: Path) -> None:
    with QdrantServer(tmp_path / "qdrant", api_key="right") as server:
        wrong, right = connect(server.url, "wrong"), connect(server.url, "right")
        with pytest.raises(StoreUnavailable, match="refuses the API key") as denied:
            await wrong.exists("x")
        assert "RECOLLECT_QDRANT_API_KEY" in denied.value.remedy
        assert not await right.exists("x")
        with pytest.raises(StoreUnavailable, match="does not have this collection"):
            await right.search("x", to_filter("ada", EVERYWHERE), [1.0, 0.0], 1)
        server.is_failing = True
        with pytest.raises(StoreBusy, match="too busy"):
            await right.exists("x")
        await wrong.close()
    with pytest.raises(StoreUnavailable, match="cannot be reached") as gone:
        await right.exists("x")
    assert "right" not in str(gone.value)
    await right.close()
