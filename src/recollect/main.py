"""The `recollect` command: where the shells meet.

The command line knows nothing of the server, MCP or the benchmark; here it gets the doors to them.
MCP over stdio does not even wait for the command line: clients start it often and expect it soon.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False  # `typing` itself takes too long before a hook's wall stands
if TYPE_CHECKING:
    from pathlib import Path

    import typer

    from recollect.settings import Settings


def main() -> None:
    # Importing makes very many objects that all stay: looking for garbage among them costs a
    # tenth of the start-up. What runs for long turns the collector on again.
    gc.disable()
    # Pydantic would look through every installed package for plugins; Recollect uses none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if sys.argv[1:] == ["mcp"]:
        _mcp()
        return
    # Agents run hooks before every prompt, and take exit codes for orders: nothing that may fail
    # or take its time comes before them.
    if sys.argv[1:2] == ["hook"] and _is_for_agents(sys.argv[2:]):
        _hook(sys.argv[2:])
    try:
        from recollect.cli.shell import survive_any_locale

        survive_any_locale()
        build()()
    except KeyboardInterrupt:  # before the command answers for itself: while it is imported
        sys.exit(130)


def _is_for_agents(arguments: list[str]) -> bool:
    """All but what people ask for."""
    asks = {"-h", "--help", "status"}
    return bool(arguments) and not asks & set(arguments)


def build() -> typer.Typer:
    """The command with everything it can do."""
    from recollect.cli.app import build as build_cli
    from recollect.cli.others import Doors

    return build_cli(Doors(_serve, _worker, _mcp, _bench, _hook))


def _serve(settings: Settings, *, ready_file: Path | None, as_json: bool) -> None:
    from recollect.serving import run

    gc.enable()
    run(settings, ready_file=ready_file, as_json=as_json)


def _worker(settings: Settings, *, once: bool, retry: bool, as_json: bool) -> None:
    from recollect.worker import run

    gc.enable()
    run(settings, once=once, retry=retry, as_json=as_json)


def _mcp() -> None:
    from recollect.mcp.stdio import run

    run()


def _hook(arguments: list[str]) -> None:
    try:
        from recollect.hooks.run import run
    except BaseException:  # noqa: BLE001  # half an installation must not stop an agent either
        os._exit(0)
    run(arguments)


def _bench(arguments: list[str]) -> object:
    from typer.main import get_command

    from recollect.bench.cli.app import app

    gc.enable()
    return get_command(app).main(arguments, "recollect bench", standalone_mode=False)


if __name__ == "__main__":
    main()
