"""Parse the words of a command line and run the command.

Uses only the standard library: importing a parser library takes longer than most commands
(docs/adr/0061).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from recollect.core.errors import InvalidInput
from recollect.shells.cli.framework.commands import (
    Argument,
    Command,
    Group,
    Option,
    Parameter,
    Plugin,
)
from recollect.shells.cli.framework.exit import Exit, ExitCode
from recollect.shells.cli.framework.output import note, print_text


def invoke(command: Command, words: Sequence[str], path: str) -> None:
    """Run the command that the words name below `path`. Raise InvalidInput for invalid words,
    before anything runs.
    """
    while isinstance(command, Group) and words and not words[0].startswith("-"):
        name, *words = words
        if name not in command.names():
            near = ", ".join(map(repr, _similar(name, command.names())))
            suggestion = f" Did you mean {near}?" if near else ""
            raise _misuse(f"No such command {name!r}.{suggestion}", path)
        command, path = command.find(name), f"{path} {name}"
        if isinstance(command, Plugin):
            command = command.load()
    try:
        values = _Reader(command.parameters, path).read([*words])
    except _HelpRequested:
        from recollect.shells.cli.framework.help import describe

        print_text(describe(command, path))
        return
    if command.run is None:
        show_usage(command, path)
    else:
        command.run(**values)


def show_usage(command: Command, path: str) -> None:
    """Print the help to stderr because a command is missing, and exit with invalid usage."""
    from recollect.shells.cli.framework.help import describe

    note(describe(command, path))
    raise Exit(ExitCode.INVALID)


class _HelpRequested(Exception):
    pass


class _Reader:
    """Turns the words after a command into the arguments of its function."""

    def __init__(self, parameters: Sequence[Parameter], path: str) -> None:
        self._path = path
        self._parameters = parameters
        self._options = {name: option for option in parameters for name in option.names}
        self._values: dict[str, Any] = {}

    def read(self, words: list[str]) -> dict[str, Any]:
        positional: list[str] = []
        while words:
            word = words.pop(0)
            if word == "--":
                positional += words
                break
            if word in ("-h", "--help"):
                raise _HelpRequested
            if word == "-" or not word.startswith("-"):
                positional.append(word)
            else:
                self._take_option(word, words)
        self._take_arguments(positional)
        for parameter in self._parameters:
            self._fill(parameter)
        return self._values

    def _take_option(self, word: str, words: list[str]) -> None:
        name, is_joined, text = word.partition("=")
        if (option := self._options.get(name)) is None:
            near = ", ".join(_similar(name, self._options))
            suggestion = f" (Possible options: {near})" if near else ""
            raise self._misuse(f"No such option: {name}{suggestion}")
        if option.type is bool:
            if is_joined:
                raise self._misuse(f"Option {name!r} does not take a value.")
            self._values[option.name] = name == option.names[0]
        elif is_joined or words:
            self._take(option, text if is_joined else words.pop(0))
        else:
            raise self._misuse(f"Option {name!r} requires an argument.")

    def _take_arguments(self, words: list[str]) -> None:
        for argument in self._parameters:
            if isinstance(argument.declared, Argument):
                taken = len(words) if argument.is_list else 1
                for word in words[:taken]:
                    self._take(argument, word)
                words = words[taken:]
        if words:
            plural = "s" if len(words) > 1 else ""
            raise self._misuse(f"Got unexpected extra argument{plural} ({' '.join(words)})")

    def _take(self, parameter: Parameter, text: str) -> None:
        if parameter.type is str:
            value: object = text
        else:
            value = self._parse(parameter, text)
        if parameter.is_list:
            self._values.setdefault(parameter.name, []).append(value)
        else:
            self._values[parameter.name] = value

    def _parse(self, parameter: Parameter, text: str) -> object:
        from recollect.core.admin.value_kinds import TAKES, wrong_kind
        from recollect.core.admin.variables import parse

        option = parameter.declared
        stated = {"ge": option.min, "le": option.max} if isinstance(option, Option) else {}
        limits = {name: limit for name, limit in stated.items() if limit is not None}
        try:
            return parse(parameter.type, text, limits)
        except ValueError as error:
            if parameter.name not in TAKES:
                message = f"Invalid value for {parameter.shown!r}: {error}"
                raise self._misuse(message) from error
            refused = wrong_kind(parameter.shown, parameter.name)
            remedy = f"{refused.remedy} {_usage_of(self._path)}"
            raise InvalidInput(str(refused), field=parameter.name, remedy=remedy) from error

    def _fill(self, parameter: Parameter) -> None:
        """Give a parameter its default if the words do not set it."""
        if parameter.name in self._values:
            return
        option = parameter.declared
        if isinstance(option, Option) and option.variable and os.environ.get(option.variable):
            self._take(parameter, os.environ[option.variable])
        elif parameter.is_required:
            kind = "option" if isinstance(option, Option) else "argument"
            raise self._misuse(f"Missing {kind} {parameter.shown!r}.")
        else:
            self._values[parameter.name] = parameter.default

    def _misuse(self, message: str) -> InvalidInput:
        return _misuse(message, self._path)


def _misuse(message: str, path: str) -> InvalidInput:
    return InvalidInput(message, field="arguments", remedy=_usage_of(path))


def _usage_of(path: str) -> str:
    return f"Run `{path} --help` for usage."


def _similar(word: str, known: Iterable[str]) -> list[str]:
    from difflib import get_close_matches

    return sorted(get_close_matches(word, [*known]))
