"""Runs a command in this process as a separate process would run it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper

import pytest

from recollect.shells.cli.app import NAME, ROOT
from recollect.shells.cli.framework.commands import Command
from recollect.shells.cli.framework.parser import invoke
from recollect.shells.cli.framework.shell import finish, has_option, survive_any_locale


@dataclass(frozen=True)
class Result:
    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


def run_command(
    arguments: Sequence[str],
    command: Command = ROOT,
    *,
    input: str | bytes | None = None,
    env: Mapping[str, str] | None = None,
) -> Result:
    given = input.encode() if isinstance(input, str) else input
    stdin, stdout, stderr = (
        TextIOWrapper(BytesIO(content), encoding="utf-8", newline="")
        for content in (given or b"", b"", b"")
    )
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(stdout), redirect_stderr(stderr):
        patch.setattr(sys, "stdin", stdin)
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        try:
            survive_any_locale()
            as_json = has_option([*arguments], "--json")
            finish(lambda: invoke(command, arguments, NAME), as_json=as_json)
        except SystemExit as end:
            code = end.code
    assert isinstance(code, int)
    return Result(code, _read_written(stdout), _read_written(stderr))


def _read_written(stream: TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, BytesIO)
    return buffer.getvalue().decode()
