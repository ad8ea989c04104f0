"""Storing a text again says so, wherever the memory is and whichever way it comes."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from tests.serving import Running
from tests.shells.cli.commands import Cli, client_of

from recollect import Client

TEA = "Tea is in the shed."


@pytest.mark.parametrize("where", ["local", "on", "off"])
def test_the_command_says_what_is_remembered_already(cli: Cli, server: Running, where: str) -> None:
    if where != "local":
        cli = Cli(cli.home, {**client_of(server, cli.home).settings, "RECOLLECT_SYNC": where})
    first = cli.json("remember", TEA, "--tag", "tea")
    assert "already_remembered" not in first
    again = cli.json("remember", TEA, "--tag", "shed")
    assert (again["id"], again["already_remembered"]) == (first["id"], True)
    assert again["tags"] == ["tea", "shed"]
    output = cli("remember", TEA).stdout
    assert output == f"already remembered as {first['id'][-8:]} (version 2)\n"
    assert len(cli.json("list")["memories"]) == 1


def test_over_rest_it_is_200_and_a_client_sees_it(server: Running, tmp_path: Path) -> None:
    key = server.new_key()
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=f"{server.url}/api/v1/", headers=headers) as http:
        first = http.post("memories", json={"content": TEA})
        assert (first.status_code, "already_remembered" in first.json()) == (201, False)
        again = http.post("memories", json={"content": TEA})
        assert (again.status_code, again.json()["already_remembered"]) == (200, True)
        assert again.headers["Location"] == first.headers["Location"]
    with Client(url=server.url, key=key) as client:
        assert client.remember(TEA).was_known
        assert not client.remember("Coffee is in the attic.").was_known


def test_two_files_of_the_memory_tool_may_hold_the_same_text(cli: Cli) -> None:
    for name in ("a", "b"):
        command = f'{{"command": "create", "path": "/memories/{name}", "file_text": "{TEA}"}}'
        assert not cli.json("memory-tool", command)["is_error"]
    assert len(cli.json("list")["memories"]) == 2
