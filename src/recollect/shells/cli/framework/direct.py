"""Run a plain command at once, without the command-line library.

Importing typer takes longer than most commands do. A command line that uses known options with
values of the right type does not need it: the command's module is imported, its declaration read
(`declared`), and the command run. Anything else (`--help`, an unknown option, a missing or
malformed value, a completion) is left to typer, so that only one place explains and rejects. This
module never prints and never fails: it runs a command, or leaves it alone.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Annotated, Any, Final, get_args, get_origin

from recollect.shells.cli.framework.declared import Argument, Option

# The commands that start at once: a module of this package and its function.
COMMANDS: Final = {
    "remember": ("memory.memories", "remember"),
    "recall": ("recall.recall", "recall"),
    "why": ("recall.recall", "why"),
    "list": ("memory.listing", "list_memories"),
    "show": ("memory.memories", "show_memory"),
    "update": ("memory.memories", "update"),
    "forget": ("memory.memories", "forget"),
    "link": ("memory.link", "link"),
    "unlink": ("memory.link", "unlink"),
    "history": ("memory.history", "history"),
    "restore": ("memory.history", "restore"),
    "proposals": ("curation.review", "proposals"),
    "review": ("curation.review", "review"),
    "undo": ("curation.review", "undo"),
    "status": ("admin.status", "status"),
}
_COMPLETION: Final = "_RECOLLECT_COMPLETE"
# Narrower than what typer accepts: typer reads the rest.
_INTEGER: Final = re.compile(r"[0-9]{1,9}")
_NUMBER: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


def command_for(arguments: Sequence[str]) -> Callable[[], object] | None:
    """The command, ready to run; None if typer has to parse it."""
    if not arguments or arguments[0] not in COMMANDS or os.environ.get(_COMPLETION):
        return None
    function = load(arguments[0])
    values = parsed(function, arguments[1:])
    return None if values is None else partial(function, **values)


def load(name: str) -> Callable[..., object]:
    module, function = COMMANDS[name]
    loaded: Callable[..., object] = getattr(
        import_module(f"recollect.shells.cli.{module}"), function
    )
    return loaded


def parsed(function: Callable[..., object], written: Sequence[str]) -> dict[str, Any] | None:
    """The function's arguments; None if the command line is not plain."""
    try:
        return _Parser(inspect.signature(function, eval_str=True).parameters).read([*written])
    except _NotPlain:
        return None


class _NotPlain(Exception):
    """Left to typer."""


class _Parser:
    def __init__(self, parameters: Mapping[str, inspect.Parameter]) -> None:
        self._values: dict[str, Any] = {}
        self._defaults = {
            name: parameter.default
            for name, parameter in parameters.items()
            if parameter.default is not inspect.Parameter.empty
        }
        self._options: dict[str, tuple[str, Any]] = {}
        self._flags: dict[str, tuple[str, bool]] = {}
        self._arguments: list[tuple[str, Any]] = []
        self._names = parameters.keys()
        for name, parameter in parameters.items():
            self._declare(name, *_declared(parameter))

    def _declare(self, name: str, type: object, said: Option | Argument) -> None:
        if isinstance(said, Argument):
            self._arguments.append((name, type))
        elif type is bool:
            for names, is_on in zip(said.names[0].split("/"), (True, False), strict=False):
                self._flags[names] = (name, is_on)
        else:
            self._options |= dict.fromkeys(said.names, (name, type))

    def read(self, written: list[str]) -> dict[str, Any]:
        positional: list[str] = []
        while written:
            word = written.pop(0)
            if word == "--":
                positional += written
                break
            if word == "-" or not word.startswith("-"):
                positional.append(word)
            elif word in self._flags:
                name, is_on = self._flags[word]
                self._values[name] = is_on
            else:
                self._take_option(word, written)
        self._take_arguments(positional)
        values = {**self._defaults, **self._values}
        if values.keys() != self._names:
            raise _NotPlain
        return values

    def _take_option(self, word: str, written: list[str]) -> None:
        option, is_joined, text = word.partition("=")
        if option not in self._options or not (is_joined or written):
            raise _NotPlain
        if not is_joined:
            text = written.pop(0)
            if text.startswith("-") and text != "-":
                raise _NotPlain
        self._take(*self._options[option], text)

    def _take_arguments(self, words: list[str]) -> None:
        for name, type in self._arguments:
            taken = len(words) if type == list[str] else 1
            for word in words[:taken]:
                self._take(name, type, word)
            words = words[taken:]
        if words:
            raise _NotPlain

    def _take(self, name: str, type: object, text: str) -> None:
        if not text:
            raise _NotPlain
        if type == list[str]:
            self._values.setdefault(name, []).append(text)
        elif type is str:
            self._values[name] = text
        elif type is int and _INTEGER.fullmatch(text):
            self._values[name] = int(text)
        elif type is float and _NUMBER.fullmatch(text):
            self._values[name] = float(text)
        else:
            raise _NotPlain


def _declared(parameter: inspect.Parameter) -> tuple[object, Option | Argument]:
    """A parameter's type, without None, and its declaration."""
    if get_origin(parameter.annotation) is Annotated:
        type, said, *others = get_args(parameter.annotation)
        options = [arg for arg in get_args(type) if arg is not None.__class__]
        if isinstance(said, Option | Argument) and not others:
            is_optional = len(options) == 1 and get_origin(type) is not list
            return options[0] if is_optional else type, said
    raise _NotPlain
