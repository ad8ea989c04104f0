"""How a command declares its options and arguments without importing a command-line library.

The annotations of a command's parameters are the only declaration. `direct` reads them to run a
plain command at once; `typed` passes the same declaration to typer, which provides help, completion
and error messages.
"""

from __future__ import annotations


class Option:
    """An option: its name, or `--on/--off` for a flag that can be set either way."""

    __slots__ = ("help", "names")

    def __init__(self, *names: str, help: str) -> None:
        self.names = names
        self.help = help


class Argument:
    """A positional argument. `metavar` is how the help shows it."""

    __slots__ = ("help", "metavar")

    def __init__(self, *, metavar: str, help: str) -> None:
        self.metavar = metavar
        self.help = help
