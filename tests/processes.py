"""Runs the commands of tests without importing anything: `python -m recollect.main …` becomes a
fork of a process that has all of Recollect loaded, as does a `program`. Importing takes longer than
most commands run.

A fork is a child of the tests' process, like everything that `subprocess` starts, so that waiting
for it, reading from it and ending it work as usual. A new interpreter is started where a fork would
behave differently: where the environment holds more than settings of Recollect (the interpreter and
libraries read it as they start), where something must happen before the program is executed, and
where a test requests `real_processes`. Only Linux can hand over a child process.

Run as a script, this is the process that forks. It has no threads and no event loop, so that a fork
is safe, and it ends when the tests' process does.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import inspect
import os
import pickle
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

COMMAND: Final = (sys.executable, "-m", "recollect.main")
_PROGRAM: Final = (sys.executable, "-X", "forked", "-c")  # which an interpreter reads as `-c`
_ROOT: Final = str(Path(__file__).parents[1])
_CAN_FORK: Final = sys.platform == "linux"
_PR_SET_CHILD_SUBREAPER: Final = 36  # linux/prctl.h
_READ_LATE: Final = ("RECOLLECT_", "PYTEST_", "COLUMNS")


def environment(**variables: str) -> dict[str, str]:
    """Return this environment with no Recollect settings but these, and no forced colours."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("RECOLLECT_") and name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
    }
    return {**kept, "RECOLLECT_WORKER": "off", **variables}


def program(code: str, *arguments: str) -> list[str]:
    """Return a command that runs Python code which may import Recollect and the tests' modules."""
    return [*_PROGRAM, f"import sys; sys.path.append({_ROOT!r})\n{code}", *arguments]


def _read_early(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if not name.startswith(_READ_LATE)}


class Forking:
    """The process that forks, started when the first command needs it."""

    def __init__(self) -> None:
        self.is_on = _CAN_FORK
        self._ending = ExitStack()
        self._asking = threading.Lock()
        self._connection: socket.socket | None = None
        self._answers: Any = None
        self._variables = environment()

    def suits(self, args: Sequence[str], env: Mapping[str, str], **other: Any) -> bool:
        """Return whether a fork would behave like a process that `subprocess` starts this way."""
        plain = {"umask": -1, "process_group": -1, "pass_fds": ()}
        special = ("executable", "shell", "preexec_fn", "uid", "gid", "gids")
        return (
            self.is_on
            and (tuple(args[:3]) == COMMAND or tuple(args[:4]) == _PROGRAM)
            and not any(other[name] for name in special)
            and all(other[name] == value for name, value in plain.items())
            and _read_early(env) == _read_early(self._variables)
        )

    def fork(self, *what: object, files: Sequence[int]) -> int:
        """Fork a new child of this process, and return its id."""
        with self._asking:
            if self._connection is None:
                self._start()
            _adopt_orphans(True)
            try:
                assert self._connection is not None
                socket.send_fds(self._connection, [b"?"], files)
                self._connection.sendall(pickle.dumps(what))
                return int(self._answers.readline())
            finally:
                _adopt_orphans(False)

    def _start(self) -> None:
        ours, its = socket.socketpair()
        with its:
            process = subprocess.Popen(
                [sys.executable, __file__, str(its.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=self._variables,
                pass_fds=[its.fileno()],
            )
        self._connection, self._answers = ours, ours.makefile("rb")
        for end in (process.wait, ours.close, self._answers.close):
            self._ending.callback(end)

    def end(self) -> None:
        self._ending.close()


def _adopt_orphans(wanted: bool) -> None:
    """Set whether orphaned descendants become children of this process."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)


@contextmanager
def fork_commands() -> Iterator[Forking]:
    """While entered, processes that `subprocess` starts are forks, also for code built on it."""
    forking = Forking()
    execute = subprocess.Popen._execute_child  # type: ignore[attr-defined]
    names = list(inspect.signature(execute).parameters)[1:]

    def fork(self: Any, *given: Any) -> None:
        asked = dict(zip(names, given, strict=True))
        if asked["env"] is None:
            asked["env"] = os.environ
        if not forking.suits(**asked):
            execute(self, *given)
            return
        ends = {name: asked[name] for name in ("p2cread", "c2pwrite", "errwrite")}
        files = [number if end == -1 else end for number, end in enumerate(ends.values())]
        self.pid = forking.fork(
            [os.fspath(argument) for argument in asked["args"]],
            dict(asked["env"]),
            Path(asked["cwd"] or ".").absolute(),
            asked["start_new_session"],
            files=files,
        )
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(asked[name] for name in pipes))

    subprocess.Popen._execute_child = fork  # type: ignore[attr-defined]
    try:
        yield forking
    finally:
        subprocess.Popen._execute_child = execute  # type: ignore[attr-defined]
        forking.end()


# ---- The process that forks ----


def _serve(connection: socket.socket) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tests' process ends this one
    reader = connection.makefile("rb")
    while True:
        _, files, _, _ = socket.recv_fds(connection, 1, 3)
        if not files:
            return
        what = pickle.load(reader)
        # A child whose parent has ended becomes a child of the tests' process.
        if between := os.fork():
            os.waitpid(between, 0)
            connection.send(b"\n")
        elif child := os.fork():
            connection.send(str(child).encode())
            os._exit(0)
        else:
            connection.close()
            reader.close()
            # As in the foreground, even where the tests run in the background.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _become(files, *what)
        for file in files:
            os.close(file)


def _become(
    files: list[int], arguments: list[str], variables: dict[str, str], folder: Path, alone: bool
) -> None:
    """Behave like a new interpreter with these arguments, until the end."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    if alone:
        os.setsid()
    os.chdir(folder)
    sys.path[0] = str(folder)
    os.environ.clear()
    os.environ.update(variables)
    for number, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
        like = getattr(sys, name)
        stream = open(  # noqa: SIM115  # it stays
            number, mode, encoding=like.encoding, errors=like.errors, newline="\n", closefd=False
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.stderr.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    gc.enable()
    status = 1
    try:
        status = _run(arguments)
        # What an interpreter does when it ends, except freeing what is loaded.
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
    finally:
        os._exit(status)


def _run(arguments: list[str]) -> int:
    try:
        if tuple(arguments[:4]) == _PROGRAM:
            sys.argv = arguments[3:]
            code = sys.argv.pop(1)
            sys.modules["__main__"] = main = ModuleType("__main__")
            exec(compile(code, "<string>", "exec"), vars(main))
        else:
            sys.argv = arguments[2:]
            runpy.run_module("recollect.main", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        return int(ended.code or 0)
    except BaseException:  # noqa: BLE001  # as an interpreter at exit
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _load() -> None:
    """Import everything that a command may import, as `recollect.main` would."""
    os.environ.update(PYDANTIC_DISABLE_PLUGINS="__all__", OPENBLAS_NUM_THREADS="1")
    sys.modules["httpx._main"] = None  # type: ignore[assignment]
    import recollect

    for module in pkgutil.walk_packages(recollect.__path__, "recollect."):
        if module.name != "recollect.main":
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a thread would be missing in forks"


if __name__ == "__main__":
    _load()
    _serve(socket.socket(fileno=int(sys.argv[1])))
