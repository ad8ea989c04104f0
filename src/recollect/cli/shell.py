"""What every command does: read the settings, ask one question, end with an exit code."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final, TypeVar

from typer.core import TyperGroup

from recollect.cli.errors import MEANINGS, guarded
from recollect.cli.output import note, print_text
from recollect.core.errors import InvalidInput, StoreUnavailable
from recollect.core.memory import MAX_CONTENT_LIMIT
from recollect.ports import Recollect

if TYPE_CHECKING:
    from recollect.settings import Settings
    from recollect.wiring import Server

Answer = TypeVar("Answer")
Part = TypeVar("Part")

MOST_BYTES_A_CHARACTER: Final = 4
_MAX_STDIN = MAX_CONTENT_LIMIT * MOST_BYTES_A_CHARACTER

EXIT_CODES = "\b\nExit codes:\n" + "\n".join(
    f"  {code:>3}  {meaning}" for code, meaning in MEANINGS.items()
)


class Shell(TyperGroup):
    """The command group whose errors are ours: see `errors.guarded`."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002  # typer's signature
        windows_expand_args: bool = True,  # noqa: FBT001, FBT002  # typer's signature
        **extra: Any,  # noqa: ANN401  # typer's signature
    ) -> Any:  # noqa: ANN401  # typer's signature
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
        as_json = _names(arguments, "--json")
        is_help = _names(arguments, "-h", "--help")
        code = guarded(lambda: _helping(run) if is_help else run(), as_json=as_json)
        _send_what_was_written(quiet=as_json)
        sys.exit(code)


def _helping(run: Callable[[], object]) -> object:
    """Typer writes help by itself; that stdout is full or gone, only `output` knows to tell."""
    with redirect_stdout(StringIO()) as said:
        result = run()
    print_text(said.getvalue().removesuffix("\n"))
    return result


_written = Event()
# For a command that does not `ask`: what it wrote is sent after its answer.
note_write = _written.set


def _send_what_was_written(*, quiet: bool) -> None:
    """The answer is out already. Nothing is imported for it unless something waits."""
    if _written.is_set():
        _written.clear()
        from recollect.cli.syncing import push_briefly
        from recollect.settings import load

        push_briefly(load(), quiet=quiet)


def ask(question: Callable[[Recollect], Awaitable[Answer]]) -> Answer:
    """One question to the memory this process works with: the local store, or a server."""
    from recollect.settings import load
    from recollect.wiring import open_recollect

    async def asked() -> Answer:
        async with open_recollect(load(), on_write=_written.set) as memory:
            return await question(memory)

    return asyncio.run(asked())


def ask_part(
    question: Callable[[Part], Awaitable[Answer]],
    *,
    remote: Callable[[Settings], AbstractAsyncContextManager[Part]],
    own: Callable[[Server], Part],
    start: bool,
) -> Answer:
    """One question to a part of a server: over its API when RECOLLECT_API_URL names it, else on its
    database, as `ask_server` does.
    """
    from recollect.settings import load

    settings = load()
    if settings.api_url is None:
        return ask_server(lambda server: question(own(server)), start=start)

    async def asked() -> Answer:
        async with remote(settings) as part:
            return await question(part)

    return asyncio.run(asked())


def ask_server(question: Callable[[Server], Awaitable[Answer]], *, start: bool) -> Answer:
    """One question to the server's database: the one that is named, else the embedded one of this
    home. That one is started for it only when it is said so.
    """
    from recollect.settings import load
    from recollect.wiring import open_server

    settings = load()
    require_own_database(settings)
    if not start:
        _require_running(settings)

    async def asked() -> Answer:
        async with open_server(settings) as server:
            return await question(server)

    return asyncio.run(asked())


def require_own_database(settings: Settings) -> None:
    """Where a server is named, its database is not the embedded one of this home, which would
    answer instead.
    """
    if settings.api_url is not None and settings.database_url is None:
        raise InvalidInput(
            "RECOLLECT_API_URL names a server, and this works on the server's own database",
            field="RECOLLECT_API_URL",
            remedy="Run it on the server's machine with RECOLLECT_API_URL unset, or set "
            "RECOLLECT_DATABASE_URL to the server's database.",
        )


def _require_running(settings: Settings) -> None:
    from recollect.adapters.embedded_postgres.places import runs

    if settings.database_url is None and not runs(settings.home):
        raise StoreUnavailable(
            "the server is not running",
            remedy="Start it with `recollect serve`, or pass --start to start its database for "
            "this command alone.",
        )


def read_stdin(what: str) -> str:
    """All of stdin as text; InvalidInput when it is not UTF-8 or far too long."""
    if sys.stdin.isatty():
        note(f"Type {what}, then Ctrl-D on a line of its own.")
    data = sys.stdin.buffer.read(_MAX_STDIN + 1)
    if len(data) > _MAX_STDIN:
        raise InvalidInput(
            f"stdin holds more than {_MAX_STDIN:,} bytes",
            field="stdin",
            remedy="Split it into several memories.",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"stdin is not valid UTF-8: byte {error.start} cannot be read",
            field="stdin",
            remedy="Convert it first, for example with `iconv -f ISO-8859-1 -t UTF-8`.",
        ) from error


def survive_any_locale() -> None:
    """Where the terminal cannot show a character, show its number instead of failing. A stream
    that the caller has closed (`>&-`) leads nowhere, and is nothing to fail for either.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115  # stays open
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # a stream that a test put there
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # as above


def _names(arguments: list[str], *options: str) -> bool:
    named = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return not set(options).isdisjoint(named)
