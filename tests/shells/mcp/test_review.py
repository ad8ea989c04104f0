"""The curator's proposals through MCP."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.shells.cli.commands import Cli
from tests.shells.mcp.test_stdio import ask, connected, refusal

pytestmark = pytest.mark.anyio

OLD = "The API runs on port 8000"
NEW = "The API moved to port 9000"


async def test_a_model_lists_proposals_and_passes_on_decisions(tmp_path: Path) -> None:
    home = tmp_path / "home"
    cli = Cli(home, {"RECOLLECT_EMBEDDER": "none", "RECOLLECT_CURATION": "propose"})
    for command in (("remember", OLD), ("remember", NEW), ("worker", "--once", "--local")):
        assert cli.process(*command).returncode == 0
    async with connected(home) as client:
        (found,) = (await ask(client, "memory_review"))["proposals"]
        assert (found["newer_quote"], found["older_quote"]) == (NEW, OLD)
        assert "names no proposal" in await refusal(client, "memory_review", decision="accept")
        done = await ask(client, "memory_review", id=found["id"], decision="accept")
        assert done["proposals"] == []
        undone = await ask(client, "memory_review", decision="undo")
        assert undone["undone"] == done["accepted"]
        hits = (await ask(client, "memory_recall", query="API port"))["hits"]
    assert {hit["memory"]["content"] for hit in hits} == {OLD, NEW}
