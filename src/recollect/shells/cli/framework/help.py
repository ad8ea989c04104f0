"""What `--help` prints."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final, get_args

from recollect.shells.cli.framework.commands import Argument, Command, Group, Parameter

_MAX_WIDTH: Final = 78
_MIN_WIDTH: Final = 50
_MAX_TERM: Final = 30
"""The explanation of a longer name starts on the next line."""


def describe(command: Command, path: str) -> str:
    """Return the usage of the command at `path`, what it does, and everything it takes."""
    width = max(min(shutil.get_terminal_size().columns - 2, _MAX_WIDTH), _MIN_WIDTH)
    parameters = command.parameters
    arguments = [parameter for parameter in parameters if isinstance(parameter.declared, Argument)]
    options = [
        (_term(parameter), _explain(parameter))
        for parameter in parameters
        if parameter not in arguments
    ]
    parts = [
        _usage(command, path, arguments, width),
        _fill(command.help, width, "  "),
        _section("Arguments", [(each.shown, _explain(each)) for each in arguments], width),
        _section("Options", [*options, ("-h, --help", "Show this message and exit.")], width),
    ]
    if isinstance(command, Group):
        names = command.names()
        room = width - 6 - max(map(len, names))
        rows = [(name, _summarize(command.find(name).help, room)) for name in names]
        parts += [_section("Commands", rows, width), textwrap.indent(command.epilog, "  ")]
    return "\n\n".join(filter(None, parts))


def _usage(command: Command, path: str, arguments: Sequence[Parameter], width: int) -> str:
    takes = ["COMMAND [ARGS]..."] if isinstance(command, Group) else []
    start = f"Usage: {path} "
    return textwrap.fill(
        " ".join(["[OPTIONS]", *(argument.shown for argument in arguments), *takes]),
        width,
        initial_indent=start,
        subsequent_indent=" " * len(start),
    )


def _term(option: Parameter) -> str:
    if option.type is bool:
        return " / ".join(option.names)
    value = getattr(option.declared, "metavar", None) or option.names[0].lstrip("-").upper()
    choices = "|".join(get_args(option.type))
    return f"{option.names[0]} {f'<{choices}>' if choices else value}"


def _explain(parameter: Parameter) -> str:
    notes = "; ".join(_notes(parameter))
    return f"{parameter.declared.help}  [{notes}]" if notes else parameter.declared.help


def _notes(parameter: Parameter) -> Iterator[str]:
    option = parameter.declared
    if not isinstance(option, Argument) and option.variable:
        yield f"env var: {option.variable}"
    if parameter.is_required:
        yield "required"
    elif parameter.type is bool and len(parameter.names) > 1 and parameter.default is not None:
        yield f"default: {parameter.names[not parameter.default].lstrip('-')}"
    elif parameter.type is not bool and parameter.default not in (None, ""):
        yield f"default: {parameter.default}"
    if not isinstance(option, Argument) and (limits := _range(option.min, option.max)):
        yield limits


def _range(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "" if low is None else f"x>={low}"
    return f"{low}<=x<={high}"


def _summarize(help: str, room: int) -> str:
    """Return the first sentence, shortened to fit on a line."""
    first = help.partition("\n\n")[0].replace("\n", " ")
    sentence, dot, _ = first.partition(". ")
    return textwrap.shorten(sentence + dot.strip(), room, placeholder="...")


def _section(title: str, rows: Sequence[tuple[str, str]], width: int) -> str:
    if not rows:
        return ""
    column = min(max(len(term) for term, _ in rows), _MAX_TERM) + 2
    lines = [f"{title}:"]
    for term, text in rows:
        first, *more = textwrap.wrap(text, width - column - 2)
        if len(term) > _MAX_TERM:
            lines.append(f"  {term}")
            term = ""
        lines += [f"  {term:{column}}{first}", *(f"  {'':{column}}{line}" for line in more)]
    return "\n".join(lines)


def _fill(text: str, width: int, indent: str) -> str:
    paragraphs = (" ".join(part.split()) for part in text.split("\n\n"))
    return "\n\n".join(
        textwrap.fill(part, width, initial_indent=indent, subsequent_indent=indent)
        for part in paragraphs
    )
