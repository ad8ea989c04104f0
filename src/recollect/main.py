"""The `recollect` command: starts the right shell.

A command spends most of its time on imports, so each entry point imports only what it needs: the
version nothing, a hook and MCP over stdio nothing of the command line, any other command its own
module (`shells/cli/app.py`). `tests/shells/cli/test_imports.py` lists what each may import.
"""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    # Imports create many objects that stay alive: collecting garbage among them costs a tenth of
    # the start-up. Long-running commands enable the collector again.
    gc.disable()
    if sys.argv[1:] == ["--version"] and _write_version():
        return
    # Pydantic would search every installed package for plugins; Recollect uses none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # NumPy multiplies small matrices here: on busy cores, splitting one among threads takes several
    # milliseconds longer than computing it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Keep httpx from importing its own command line and its dependencies.
    sys.modules["httpx._main"] = None  # type: ignore[assignment]  # marks a module as missing
    if sys.argv[1:] == ["mcp"]:
        _run_mcp()
        return
    # Agents run hooks before every prompt and act on their exit codes: nothing slow, and nothing
    # that may fail, runs before them.
    if sys.argv[1:2] == ["hook"] and _is_for_agents(sys.argv[2:]):
        _run_hook(sys.argv[2:])
    try:
        from recollect.shells.cli.app import run

        run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)


def _write_version() -> bool:
    """Write the version; False if stdout cannot be written, which the command line then reports."""
    from recollect import __version__

    try:
        sys.stdout.write(f"recollect {__version__}\n")
        sys.stdout.flush()
    except (OSError, AttributeError):  # full, gone or closed
        return False
    return True


def _is_for_agents(arguments: list[str]) -> bool:
    """Whether an agent runs the hook: people only ask for help or the status."""
    asks = {"-h", "--help", "status"}
    return bool(arguments) and not asks & set(arguments)


def _run_mcp() -> None:
    from recollect.shells.mcp.stdio import run

    run()


def _run_hook(arguments: list[str]) -> None:
    try:
        from recollect.shells.hooks.run import run
    except BaseException:  # noqa: BLE001  # a broken installation must not stop an agent either
        os._exit(0)
    run(arguments)


if __name__ == "__main__":
    main()
