"""What is typed at a terminal stands for the user; what a program runs does not."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

from tests.processes import COMMAND, environment
from tests.serving import Running
from tests.shells.cli.commands import Cli, client_of
from tests.waiting import SECONDS

DRAFT = ("remember", "Use British spelling in the docs.", "--category", "preference", "--json")


def type_command(cli: Cli, *arguments: str) -> dict[str, object]:
    person, terminal = pty.openpty()
    try:
        done = subprocess.run(
            [*COMMAND, *arguments],
            stdin=terminal,
            capture_output=True,
            env=environment(**cli.variables),
            timeout=SECONDS,
            check=True,
        )
    finally:
        os.close(person)
        os.close(terminal)
    memory: dict[str, object] = json.loads(done.stdout)
    return memory


def test_a_typed_command_stands_for_the_user(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    piped = json.loads(cli.process(*DRAFT, "--tag", "standing").stdout)
    assert (piped["tags"], piped["changed_by"]) == ([], "cli")
    typed = type_command(cli, *DRAFT)
    assert (typed["id"], typed["tags"]) == (piped["id"], ["standing"])


def test_a_server_knows_it_too(server: Running, tmp_path: Path) -> None:
    cli = client_of(server, tmp_path)
    assert cli.json(*DRAFT[:-1], "--tag", "standing")["tags"] == []
    typed = type_command(cli, *DRAFT[:1], "Use tabs in Go files.", *DRAFT[2:])
    assert typed["tags"] == ["standing"]
