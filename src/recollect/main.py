"""The `recollect` command: where the shells meet.

The command line does not import the server, MCP or the benchmark; here it gets their entry points.

Most of what a command takes is importing, so each way in imports no more than it needs: the version
nothing, a hook and MCP over stdio nothing of the command line, a plainly written command its own
module (`shells/cli/framework/direct.py`), and only the rest the whole command line with typer
(`shells/cli/app.py`). `tests/shells/cli/test_imports.py` holds what each may import.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False  # `typing` itself takes too long before a hook's watchdog runs
if TYPE_CHECKING:
    from pathlib import Path

    import typer

    from recollect.settings import Settings


def main() -> None:
    # Imports create many objects that all stay: searching them for garbage costs a tenth of the
    # start-up. Long-running commands turn the collector on again.
    gc.disable()
    if sys.argv[1:] == ["--version"] and _wrote_version():
        return
    # Pydantic would look through every installed package for plugins; Recollect uses none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # NumPy's products are small here: on busy cores, sharing one between threads takes several
    # milliseconds longer than computing it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Httpx would import its own command line, with everything that this one needs.
    sys.modules["httpx._main"] = None  # type: ignore[assignment]  # how Python says "not here"
    if sys.argv[1:] == ["mcp"]:
        _mcp()
        return
    # Agents run hooks before every prompt, and take exit codes for orders: nothing that may fail
    # or take its time comes before them.
    if sys.argv[1:2] == ["hook"] and _is_for_agents(sys.argv[2:]):
        _hook(sys.argv[2:])
    try:
        from recollect.shells.cli.framework.direct import command_for
        from recollect.shells.cli.framework.shell import finish, names, survive_any_locale

        survive_any_locale()
        if (command := command_for(sys.argv[1:])) is not None:
            finish(command, as_json=names(sys.argv[1:], "--json"))
        build()()
    except KeyboardInterrupt:
        sys.exit(130)


def _wrote_version() -> bool:
    """Where stdout cannot take it, the command line says so."""
    from recollect import __version__

    try:
        sys.stdout.write(f"recollect {__version__}\n")
        sys.stdout.flush()
    except (OSError, AttributeError):  # full, gone or closed
        return False
    return True


def _is_for_agents(arguments: list[str]) -> bool:
    """All but what people ask for."""
    asks = {"-h", "--help", "status"}
    return bool(arguments) and not asks & set(arguments)


def build() -> typer.Typer:
    """The command with everything it can do."""
    from recollect.shells.cli.admin.entry_points import EntryPoints
    from recollect.shells.cli.app import build as build_cli

    return build_cli(EntryPoints(_serve, _page, _worker, _mcp, _bench, _hook))


def _serve(settings: Settings, *, ready_file: Path | None, as_json: bool) -> None:
    from recollect.shells.serve import run

    gc.enable()
    run(settings, ready_file=ready_file, as_json=as_json)


def _page(settings: Settings, *, port: int, as_json: bool) -> None:
    from recollect.shells.serve import run_page

    gc.enable()
    run_page(settings, port=port, as_json=as_json)


def _worker(settings: Settings, *, once: bool, retry: bool, local: bool, as_json: bool) -> None:
    from recollect.shells.worker import run

    gc.enable()
    run(settings, once=once, retry=retry, local=local, as_json=as_json)


def _mcp() -> None:
    from recollect.shells.mcp.stdio import run

    run()


def _hook(arguments: list[str]) -> None:
    try:
        from recollect.shells.hooks.run import run
    except BaseException:  # noqa: BLE001  # half an installation must not stop an agent either
        os._exit(0)
    run(arguments)


def _bench(arguments: list[str]) -> object:
    """The benchmark is a distribution of its own, which registers its command."""
    from importlib.metadata import entry_points

    from typer.main import get_command

    from recollect.core.admin.extras import how_to_install
    from recollect.core.errors import RecollectError
    from recollect.shells.cli.framework.group import name_values

    installed = [*entry_points(group="recollect.commands", name="bench")]
    if not installed:
        raise RecollectError("the benchmark is not installed", remedy=how_to_install("bench"))
    gc.enable()
    command = get_command(installed[0].load())
    name_values(command)
    return command.main(arguments, "recollect bench", standalone_mode=False)


if __name__ == "__main__":
    main()
