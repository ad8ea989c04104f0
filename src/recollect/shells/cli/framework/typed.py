"""Commands for typer: their declarations (`declared`) become typer's options and arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, get_args, get_origin

import typer

from recollect.shells.cli.framework.declared import Argument, Option

Function = TypeVar("Function", bound=Callable[..., object])


class Commands(typer.Typer):
    """A group of commands that are declared either with `declared` or with typer."""

    def command(self, name: str | None = None, **said: Any) -> Callable[[Function], Function]:  # noqa: ANN401  # typer's own
        return self._adding(super().command(name, **said))

    def callback(self, **said: Any) -> Callable[[Function], Function]:  # noqa: ANN401  # typer's own
        return self._adding(super().callback(**said))

    @staticmethod
    def _adding(add: Callable[..., object]) -> Callable[[Function], Function]:
        def register(command: Function) -> Function:
            add(typed(command))
            return command

        return register


def typed(command: Callable[..., object]) -> Callable[..., object]:
    """The same command, declared for typer."""

    @functools.wraps(command)
    def run(*positional: object, **named: object) -> object:
        return command(*positional, **named)

    declared = inspect.signature(command, eval_str=True)
    shown = [
        parameter.replace(annotation=_annotation(parameter.annotation))
        for parameter in declared.parameters.values()
    ]
    run.__signature__ = declared.replace(parameters=shown)  # type: ignore[attr-defined]  # what typer reads
    return run


def _annotation(annotation: Any) -> Any:  # noqa: ANN401  # of any type
    if get_origin(annotation) is not Annotated:
        return annotation
    type, *said = get_args(annotation)
    return Annotated[type, *map(_typed, said)]


def _typed(said: object) -> object:
    if isinstance(said, Option):
        return typer.Option(*said.names, help=said.help)
    if isinstance(said, Argument):
        return typer.Argument(metavar=said.metavar, help=said.help)
    return said
