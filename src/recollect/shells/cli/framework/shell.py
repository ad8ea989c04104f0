"""What every command does: read the settings, ask one question, exit with a code.

Errors are reported on stderr. A person gets two lines: what went wrong and what to do. With
`--json`, a script gets one JSON object with the same text. Tracebacks appear only with
RECOLLECT_DEBUG.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

from recollect.core.errors import (
    InvalidInput,
    RecollectError,
    StoreUnavailable,
)
from recollect.core.memory.memory import MAX_CONTENT_LIMIT
from recollect.core.privacy.redaction import safe_message, safe_traceback
from recollect.shells.cli.framework.exit import Exit, ExitCode, exit_code
from recollect.shells.cli.framework.output import note, one_line

if TYPE_CHECKING:
    from recollect.core.memory.project import Repository
    from recollect.ports.service import Service
    from recollect.settings import Settings
    from recollect.wiring.local import Local
    from recollect.wiring.server import Server

Answer = TypeVar("Answer")
Part = TypeVar("Part")

_MAX_BYTES_PER_CHARACTER: Final = 4
_MAX_STDIN = MAX_CONTENT_LIMIT * _MAX_BYTES_PER_CHARACTER


def finish(command: Callable[[], object], *, as_json: bool) -> NoReturn:
    """Run a command, push what it wrote, and exit with its code."""
    try:
        code = guarded(command, as_json=as_json)
    except BrokenPipeError:  # the reader of stderr is gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        code = ExitCode.UNEXPECTED
    _tell_renamed(quiet=as_json)
    _push_writes(quiet=as_json)
    sys.exit(code)


def guarded(work: Callable[[], object], *, as_json: bool) -> int:
    """Run a command and return its exit code; errors are reported on stderr."""
    try:
        result = work()
    except RecollectError as error:
        report(error, as_json=as_json)
        return exit_code(error)
    except Exit as end:
        return end.exit_code
    except Exception as error:  # noqa: BLE001  # a person sees no traceback, whatever the error
        unexpected = RecollectError(
            f"unexpected {safe_message(error)}",
            remedy="Run it again with RECOLLECT_DEBUG=1 to get a traceback, and report it.",
        )
        report(unexpected, as_json=as_json)
        return ExitCode.UNEXPECTED
    return result if isinstance(result, int) else ExitCode.OK


def report(error: RecollectError, *, as_json: bool) -> None:
    """Print on stderr what went wrong and what to do."""
    if os.environ.get("RECOLLECT_DEBUG"):
        note(safe_traceback(sys.exception() or error))
    if as_json:
        import json

        note(json.dumps({"error": _problem(error)}))
    else:
        note(f"{one_line(str(error))}\n→ {one_line(error.remedy)}")


def _problem(error: RecollectError) -> dict[str, object]:
    """Return the error in the format of the REST API, which has no type for unexpected errors."""
    from recollect.wire.problems import KINDS, URN, Problem

    if not isinstance(error, tuple(KINDS)):
        return {"type": URN + "unexpected", "detail": str(error), "remedy": error.remedy}
    return Problem.from_error(error).model_dump(mode="json")


def has_option(arguments: list[str], *options: str) -> bool:
    """Return whether one of the options is among the arguments."""
    before_end = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return not set(options).isdisjoint(before_end)


# The new name of the project of this folder that a command found, and what to say of it.
_renamed: Final[dict[Repository, str | None]] = {}
_written = Event()
# For commands that do not use `ask`: push what they wrote to a cached store after the answer.
note_write = _written.set


def _push_writes(*, quiet: bool) -> None:
    """Push writes after the answer. Imports nothing unless something was written."""
    if not _written.is_set():
        return
    _written.clear()
    from recollect.settings import load

    settings = load()
    if settings.mode != "cached":
        return
    try:
        error = run_async(_push(settings))
    except RecollectError:
        return  # the command has answered; `recollect status` reports on the store
    if error is not None and not quiet:
        note(f"stored here, but not sent: {error}\n→ {error.remedy}")


async def _push(settings: Settings) -> RecollectError | None:
    from recollect.wiring.local import open_cached

    async with open_cached(settings) as cached:
        return await cached.run.push_briefly()


def run_async(work: Coroutine[object, object, Answer]) -> Answer:
    """Run a coroutine in an event loop. asyncio is imported only now."""
    import asyncio

    return asyncio.run(work)


def ask(
    question: Callable[[Service], Awaitable[Answer]],
    *,
    by_meaning: bool = False,
    catching_up: bool = False,
    settings: Settings | None = None,
) -> Answer:
    """Ask one question of the memory that this process works with: the local store, or a server.
    Only a command that recalls `by_meaning` loads what that needs. Pass `settings` if they were
    already read.
    """
    from recollect.settings import load
    from recollect.wiring.local import open_service

    chosen = settings or load()

    async def run() -> Answer:
        async with open_service(
            chosen,
            by_meaning=by_meaning,
            catching_up=catching_up,
            on_write=_written.set,
            # An agent, a script or a pipe runs commands without one.
            actor="terminal" if sys.stdin is not None and sys.stdin.isatty() else "cli",
        ) as memory:
            await _keep_project(memory)
            return await question(memory)

    return run_async(run())


async def _keep_project(recollect: Service) -> None:
    """The project of this folder keeps its memories when its name changes."""
    from recollect.wiring.project import keep_project

    with suppress(OSError):  # the folder was removed
        seen = await keep_project(recollect, Path.cwd(), os.environ)
        if seen is not None and seen.was is not None:
            _renamed[seen] = await _describe_rename(recollect, seen.was, seen.project)


async def _describe_rename(recollect: Service, was: str, now: str) -> str | None:
    """What to say of another name; None if both mean a project that a person named."""
    old, new = await recollect.resolve_project(was), await recollect.resolve_project(now)
    said = f"the project of this folder is {one_line(now)} now; its memories"
    if old == new:
        came = f"{said} came along from {one_line(was)}, which stays another name of it"
        return came if new == now else None
    verb = "merge" if new in (await recollect.stats()).by_project else "rename"
    return (
        f"{said} stay in {one_line(old)}, which another folder has\n→ To move them here, run "
        f"`recollect project {verb} {one_line(old)} {one_line(new)}`."
    )


def _tell_renamed(*, quiet: bool) -> None:
    """That the project of this folder has another name; a person is told once."""
    for seen, said in () if quiet else _renamed.items():
        from recollect.wiring.project import note_told

        if said is not None:
            note(said)
        note_told(seen, os.environ)
    _renamed.clear()


def ask_part(
    question: Callable[[Part], Awaitable[Answer]],
    *,
    remote: Callable[[Settings], AbstractAsyncContextManager[Part]],
    own: Callable[[Server], Part],
    start: bool,
) -> Answer:
    """Ask one question of a part of a server: through its API if RECOLLECT_API_URL is set, else of
    its database, like `ask_server`.
    """
    from recollect.settings import load

    settings = load()
    if settings.api_url is None:
        return ask_server(lambda server: question(own(server)), start=start)

    async def run() -> Answer:
        async with remote(settings) as part:
            return await question(part)

    return run_async(run())


def ask_filled(question: Callable[[Server | Local], Awaitable[Answer]], *, start: bool) -> Answer:
    """Ask one question of the store whose vectors and graph a command works on: the database of a
    server if one is configured, runs in this home or is to be started; else the local store.
    """
    from recollect.settings import load
    from recollect.wiring.local import open_local
    from recollect.wiring.postgres import is_database_running

    settings = load()
    if start or settings.api_url is not None or is_database_running(settings):
        return ask_server(question, start=start)

    async def run() -> Answer:
        async with open_local(settings) as local:
            return await question(local)

    return run_async(run())


def ask_server(question: Callable[[Server], Awaitable[Answer]], *, start: bool) -> Answer:
    """Ask one question of the server's database: the configured one, else the embedded one of this
    home, which is started for this only with `start`.
    """
    from recollect.settings import load
    from recollect.wiring.server import open_server

    settings = load()
    require_own_database(settings)
    if not start:
        _require_running(settings)

    async def run() -> Answer:
        async with open_server(settings) as server:
            return await question(server)

    return run_async(run())


def require_own_database(settings: Settings) -> None:
    """Raise InvalidInput if a server but not its database is configured: the embedded database of
    this home would answer instead.
    """
    if settings.api_url is not None and settings.database_url is None:
        raise InvalidInput(
            "RECOLLECT_API_URL names a server, and this works on the server's own database",
            field="RECOLLECT_API_URL",
            remedy="Run it on the server's machine with RECOLLECT_API_URL unset, or set "
            "RECOLLECT_DATABASE_URL to the server's database.",
        )


def _require_running(settings: Settings) -> None:
    from recollect.wiring.postgres import is_database_running

    if not is_database_running(settings):
        raise StoreUnavailable(
            "the server is not running",
            remedy="Start it with `recollect serve`, or pass --start to start its database for "
            "this command alone.",
        )


def prompt(question: str) -> str | None:
    """Read a person's answer, on one line; None at the end of the input (Ctrl-D)."""
    sys.stderr.write(f"{question}: ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        note("")  # start the following output on a new line
        return None
    return line.strip()


def read_stdin(what: str) -> str:
    """Read all of stdin as text, replacing invalid UTF-8; raise InvalidInput if it is too long."""
    if sys.stdin.isatty():
        note(f"Type {what}, then Ctrl-D on a line of its own.")
    data = sys.stdin.buffer.read(_MAX_STDIN + 1)
    if len(data) > _MAX_STDIN:
        raise InvalidInput(
            f"stdin holds more than {_MAX_STDIN:,} bytes",
            field="stdin",
            remedy=f"A memory has at most {MAX_CONTENT_LIMIT:,} characters. "
            "`recollect import --format document FILE` stores a longer text as several memories.",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        note(
            f"stdin is not valid UTF-8: what cannot be read, from byte {error.start} on, is stored "
            "as \N{REPLACEMENT CHARACTER}. To convert it first, use `iconv -f ISO-8859-1 -t UTF-8`."
        )
        return data.decode("utf-8", "replace")


def survive_any_locale() -> None:
    """Show the number of a character that the terminal cannot show, instead of failing. A stream
    that the caller has closed (`>&-`) is replaced by /dev/null.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115  # stays open
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # a stream that a test put there
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # as above
