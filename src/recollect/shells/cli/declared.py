"""How a command declares its options and arguments, without importing a command-line library.

The annotations of a command's parameters are the one declaration. `direct` reads them to run a
plainly written command at once; `typed` hands the same declaration to typer, which explains,
completes and refuses.
"""

from __future__ import annotations


class Option:
    """An option: its name, or `--on/--off` for a flag that can be said either way."""

    __slots__ = ("help", "names")

    def __init__(self, *names: str, help: str) -> None:
        self.names = names
        self.help = help


class Argument:
    """What follows the command's name. `metavar` is how the help shows it."""

    __slots__ = ("help", "metavar")

    def __init__(self, *, metavar: str, help: str) -> None:
        self.metavar = metavar
        self.help = help
