"""Run the command in tests: in this process, and as a real one for what only that shows."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
from tests.command_line import Result, run_command
from tests.processes import COMMAND, environment
from tests.serving import Running
from tests.waiting import SECONDS


@dataclass(frozen=True)
class Cli:
    """The command on a home of its own; `settings` are further environment variables."""

    home: Path
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def variables(self) -> dict[str, str]:
        return {"RECOLLECT_HOME": str(self.home), **self.settings}

    def __call__(self, *arguments: str, input: str | bytes | None = None) -> Result:
        logging_before = structlog.get_config()  # `worker` and `serve` change it for good
        try:
            return run_command(arguments, input=input, env=self.variables)
        finally:
            structlog.configure(**logging_before)

    def json(self, *arguments: str, input: str | None = None) -> Any:
        """Run a command with --json and return the document that it prints."""
        result = self(*arguments, "--json", input=input)
        assert result.exit_code == 0, result.stderr
        assert result.stderr == ""
        return json.loads(result.stdout)

    def error(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """Run a command that must fail; return its exit code and its problem."""
        result = self(*arguments, "--json")
        assert result.stdout == ""
        return result.exit_code, json.loads(result.stderr)["error"]

    def process(
        self, *arguments: str, input: bytes = b"", **variables: str
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*COMMAND, *arguments],
            input=input,
            capture_output=True,
            env=environment(**self.variables, **variables),
            timeout=SECONDS,
            check=False,
        )


def unhurried_home(home: Path) -> Path:
    """Set up a home where recalls, also of other processes, may take as long as they need."""
    Cli(home).json("settings", "set", "deadline_ms", "60000")
    return home


def client_of(server: Running, home: Path, key: str | None = None) -> Cli:
    """Return the command as a client of a server, by default with the key of a new owner."""
    named = {"RECOLLECT_API_URL": server.url, "RECOLLECT_API_KEY": key or server.new_key()}
    return Cli(home, {**named, "RECOLLECT_SYNC": "off"})
