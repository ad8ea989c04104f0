"""How commands are declared: a command is a function, and its annotations declare its options.

Only the module of the command that runs is imported.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

Function = TypeVar("Function", bound=Callable[..., object])
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A positional argument. The help shows it as `metavar`."""

    metavar: str
    help: str


@dataclass(frozen=True, slots=True)
class Option:
    """An option. Its name is `--on/--off` for a flag that can be set either way."""

    name: str
    _: KW_ONLY
    help: str
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    variable: str | None = None
    """The environment variable that is read if the option is not given."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a command's function, as the command line sees it."""

    name: str
    type: Any
    """The type of one value."""
    is_list: bool
    default: Any
    declared: Option | Argument

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def shown(self) -> str:
        return self.names[0] if isinstance(self.declared, Option) else self.declared.metavar

    @property
    def names(self) -> list[str]:
        """The names of an option; a flag that can be set either way has two."""
        return self.declared.name.split("/") if isinstance(self.declared, Option) else []


class Command:
    """A function with its declaration; `help` replaces its docstring."""

    def __init__(self, run: Callable[..., object] | None, help: str | None = None) -> None:
        self.run = run
        self.help = inspect.cleandoc(help or (run.__doc__ if run else None) or "")

    @property
    def parameters(self) -> list[Parameter]:
        return (
            [] if self.run is None else list(map(_read_parameter, _parameters(self.run).values()))
        )


class Group(Command):
    """Commands by name: functions, other groups, or references (`module:name`). A default command
    runs if no other is named.
    """

    def __init__(
        self,
        help: str,
        commands: Mapping[str, Command | Callable[..., object] | str] | None = None,
        *,
        epilog: str = "",
    ) -> None:
        super().__init__(None, help)
        self.epilog = epilog
        self._commands = dict(commands or {})

    def default(self, run: Function) -> Function:
        self.run = run
        return run

    def command(self, name: str) -> Callable[[Function], Function]:
        def add(run: Function) -> Function:
            self._commands[name] = run
            return run

        return add

    def names(self) -> list[str]:
        return list(self._commands)

    def find(self, name: str) -> Command:
        found = self._commands[name]
        if isinstance(found, str):
            module, _, attribute = found.partition(":")
            found = getattr(import_module(module), attribute)
        return found if isinstance(found, Command) else Command(found)


class Plugin(Command):
    """A command of another distribution, imported only when it runs."""

    def __init__(self, help: str, load: Callable[[], Command]) -> None:
        super().__init__(None, help)
        self.load = load


def _read_parameter(parameter: inspect.Parameter) -> Parameter:
    type, declared = get_args(parameter.annotation)
    if get_origin(type) in (Union, UnionType):
        (type,) = (member for member in get_args(type) if member is not NoneType)
    is_list = get_origin(type) is list
    if is_list:
        (type,) = get_args(type)
    return Parameter(parameter.name, type, is_list, parameter.default, declared)


def _parameters(function: Callable[..., object]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function, eval_str=True).parameters)


def option_group(
    **makers: Callable[..., object],
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Replace parameters of a command by groups of options: each named parameter gets the value
    that its function makes from the options. For example, a command takes a scope as one parameter,
    and the command line shows the options that describe a scope.
    """

    def decorate(command: Callable[..., Result]) -> Callable[..., Result]:
        taken = {name: _parameters(maker) for name, maker in makers.items()}

        @functools.wraps(command)
        def run(**options: object) -> Result:
            for name, maker in makers.items():
                options[name] = maker(**{option: options.pop(option) for option in taken[name]})
            return command(**options)

        shown: list[inspect.Parameter] = []
        for name, parameter in _parameters(command).items():
            shown += taken[name].values() if name in taken else [parameter]
        run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # which `_parameters` reads
        return run

    return decorate
