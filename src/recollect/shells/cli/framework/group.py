"""The command group that typer runs: errors and help are reported like all others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from typer import Abort, BadParameter, TyperException
from typer._click import Command, Context
from typer._click.exceptions import NoArgsIsHelpError
from typer.core import TyperArgument, TyperGroup, TyperOption

from recollect.core.errors import InvalidInput
from recollect.shells.cli.framework.errors import MEANINGS, ExitCode
from recollect.shells.cli.framework.exit import Exit
from recollect.shells.cli.framework.output import note, print_text
from recollect.shells.cli.framework.shell import finish, names

EXIT_CODES = "\b\nExit codes:\n" + "\n".join(
    f"  {code:>3}  {meaning}" for code, meaning in MEANINGS.items()
)


class Shell(TyperGroup):
    """The command group whose errors go through `errors.guarded`."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002  # typer's signature
        windows_expand_args: bool = True,  # noqa: FBT001, FBT002  # typer's signature
        **extra: Any,  # noqa: ANN401  # typer's signature
    ) -> Any:  # noqa: ANN401  # typer's signature
        name_values(self)
        arguments = list(sys.argv[1:] if args is None else args)
        work = super().main

        def run() -> object:
            return work(
                arguments,
                prog_name or "recollect",
                complete_var,
                standalone_mode=False,
                windows_expand_args=windows_expand_args,
                **extra,
            )

        if not standalone_mode:
            return run()
        is_help = names(arguments, "-h", "--help")
        return finish(
            lambda: _translated(lambda: _helping(run) if is_help else run()),
            as_json=names(arguments, "--json"),
        )


def name_values(command: Command) -> None:
    """Show values by name in the help, `--tag TAG`, not by their Python type. Choices stay as they
    are.
    """
    for param in command.params:
        if isinstance(param, TyperArgument | TyperOption) and not param.type_descriptor.is_choice:
            param.metavar = param.metavar or max(param.opts, key=len).lstrip("-").upper()
        if isinstance(param, TyperArgument):
            param.display_type_rich = _nothing  # type: ignore[method-assign]  # no setting does it
    if isinstance(command, TyperGroup):
        for below in command.commands.values():
            name_values(below)


def _nothing(ctx: Context) -> None:  # noqa: ARG001  # typer's signature
    return None


def _helping(run: Callable[[], object]) -> object:
    """Typer writes help itself; write errors of stdout are reported by `output`."""
    with redirect_stdout(StringIO()) as said:
        result = run()
    print_text(said.getvalue().removesuffix("\n"))
    return result


def _translated(run: Callable[[], object]) -> object:
    """Translate typer's errors into ours."""
    try:
        return run()
    except NoArgsIsHelpError as error:
        note(error.format_message())
        raise Exit(ExitCode.INVALID) from error
    except TyperException as error:
        raise _misused(error) from error
    except Abort as error:
        raise Exit(ExitCode.UNEXPECTED) from error


def _misused(error: TyperException) -> InvalidInput:
    """A value of the wrong type in our own words; anything else in typer's."""
    from recollect.core.admin.value_kinds import TAKES, wrong_kind

    see = f"Run `{_command_of(error)} --help` for usage."
    parameter = getattr(error, "param", None)
    name = getattr(parameter, "name", None) or ""
    is_missing = type(error) is not BadParameter  # typer's own kinds say what is missing, and where
    if isinstance(error, BadParameter) and not is_missing and name in TAKES:
        is_option = getattr(parameter, "param_type_name", "option") == "option"
        shown = f"--{name.replace('_', '-')}" if is_option else name.upper()
        refused = wrong_kind(shown, name)
        return InvalidInput(str(refused), field=name, remedy=f"{refused.remedy} {see}")
    return InvalidInput(error.format_message(), field="arguments", remedy=see)


def _command_of(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    return str(context.command_path) if context is not None else "recollect"
