"""Options shared by several commands, declared once as the parameters of the function that reads
them.

A command takes a scope, for example, as one parameter; the options that describe a scope replace
that parameter on the command line.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def option_group(
    **makers: Callable[..., object],
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """For each named parameter, pass what its function makes of the options it takes."""

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
        run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # what typer reads
        return run

    return decorate


def _parameters(function: Callable[..., object]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function, eval_str=True).parameters)
