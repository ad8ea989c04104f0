"""The `recollect` command: where the shells meet.

Most of what a command takes is importing, so each way in imports no more than it needs: the version
nothing, a hook and MCP over stdio nothing of the command line, any other command its own module
(`shells/cli/app.py`). `tests/shells/cli/test_imports.py` holds what each may import.
"""

from __future__ import annotations

import gc
import os
import sys


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
        from recollect.shells.cli.app import run

        run(sys.argv[1:])
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


def _mcp() -> None:
    from recollect.shells.mcp.stdio import run

    run()


def _hook(arguments: list[str]) -> None:
    try:
        from recollect.shells.hooks.run import run
    except BaseException:  # noqa: BLE001  # half an installation must not stop an agent either
        os._exit(0)
    run(arguments)


if __name__ == "__main__":
    main()
