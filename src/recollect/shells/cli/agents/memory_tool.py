"""The command that runs one call of Anthropic's memory tool."""

from __future__ import annotations

import json
from typing import Annotated

from recollect.core.errors import InvalidInput
from recollect.shells.cli.framework.commands import Argument
from recollect.shells.cli.framework.options import AsJson, Project, check_project
from recollect.shells.cli.framework.output import print_json, print_text
from recollect.shells.cli.framework.shell import ask, read_stdin


def memory_tool(
    command: Annotated[
        str | None,
        Argument(metavar="[COMMAND]", help="The tool's input as JSON; omitted or -: stdin."),
    ] = None,
    *,
    project: Project = None,
    as_json: AsJson = False,
) -> None:
    """Run one command of Anthropic's memory tool on files under /memories, each a memory."""
    from recollect.usecases.agents.memory_tool import memory_tool as run_tool

    named = check_project(project)
    text = read_stdin("the tool's input") if command in (None, "-") else str(command)
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise InvalidInput(
            "the tool's input is not a JSON object",
            field="command",
            remedy="Pass the input that the model sent, such as "
            '\'{"command": "view", "path": "/memories"}\'.',
        )
    answer = ask(lambda recollect: run_tool(recollect, values, project=named))
    if as_json:
        print_json({"content": answer.text, "is_error": answer.is_error})
    else:
        print_text(answer.text)
