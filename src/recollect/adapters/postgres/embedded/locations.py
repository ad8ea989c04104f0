"""Where the files of the embedded Postgres are.

    <home>/postgres/        ours: 0700, or 0711 when root must let the account pass
        pgpass              the passwords, 0600, in libpq's own format; exists once `data` does
        users.lock          held (shared) by every process that uses the server
        start.lock          held by the one that starts or stops it
        installation/       the Postgres binaries and the verdict about halfvec
        data/  log/  run/   the account's, 0700: data files, logs, the socket

When root keeps the home where the account cannot go (/root is 0700), the folder is
/var/lib/recollect/<digest of the home's path>/ instead; the file `home` in it names the home.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from recollect.adapters.files.file_lock import FileLock
from recollect.adapters.postgres.embedded.account import Account
from recollect.adapters.postgres.embedded.errors import (
    ClusterBusy,
    DataFolderUnusable,
    HomeUnusable,
    SocketUnusable,
    explain_os_errors,
)

# Which processes use a data folder. The pid file cannot be trusted: after a crash or a reboot the
# pid in `postmaster.pid` may be dead, or belong to another program. Postgres itself refuses to
# start when that program runs under the same account, or when the dead server is a zombie that a
# container's first process never reaps; and a signal to the wrong pid would hit another program. So
# a process is identified by its command line.

# Larger than any pid of a kernel (Linux 4194304, macOS 99999), so it never exists.
_NO_PROCESS = 2**31 - 2
_HAS_PROC = Path("/proc/self/stat").exists()  # Linux, not macOS
_POLL_SECONDS = 0.01


def find_postmaster(data: Path) -> int | None:
    """Return the pid of the running server of this data folder, or None."""
    pid = _read_pid(data)
    return pid if pid is not None and _serves(pid, data) else None


def is_alive(pid: int) -> bool:
    """Return whether the process runs; a zombie does not."""
    return _command_line(pid) is not None


def disown_stale_pid(data: Path, socket: Path) -> None:
    """Let Postgres see that the process in its lock files is not its predecessor.

    The socket's lock is removed: it protects nothing when no server uses the data. In the pid file
    of the data folder only the pid is replaced: from the shared memory id in it Postgres checks
    that no orphaned backend of the dead server still writes, so the file must not be deleted.
    """
    if find_postmaster(data) is not None:
        return
    socket.with_name(f"{socket.name}.lock").unlink(missing_ok=True)
    if _read_pid(data) is None:
        return
    fd = os.open(data / "postmaster.pid", os.O_RDWR | os.O_NOFOLLOW)
    with os.fdopen(fd, "r+") as file:
        lines = file.read().splitlines(keepends=True)
        file.seek(0)
        file.write("".join([f"{_NO_PROCESS}\n", *lines[1:]]))
        file.truncate()


def end_leftovers(folder: Path, timeout: float) -> bool:
    """End what a killed process of ours left running in `folder`. Returns True when all has ended.

    These are programs that are in the folder, or that use a data folder in it.
    """
    marks = (f" -D {folder}/", f" -D {folder} ")
    pids = [
        pid
        for pid in _all_pids()
        if (command := _command_line(pid)) is not None
        and (command.startswith(f"{folder}/") or any(mark in command for mark in marks))
    ]
    still_there = [pid for pid in pids if not signal_and_wait(pid, signal.SIGQUIT, timeout)]
    return not still_there


def signal_and_wait(pid: int, how: signal.Signals, timeout: float) -> bool:
    """Send the signal. Returns whether the process ends within `timeout` seconds."""
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        return True
    return any(not is_alive(pid) for _ in until(timeout))


def until(timeout: float) -> Iterator[None]:
    """Yield now, and then every few milliseconds until the time is up."""
    deadline = time.monotonic() + timeout
    yield
    while time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        yield


def _read_pid(data: Path) -> int | None:
    try:
        fd = os.open(data / "postmaster.pid", os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    with os.fdopen(fd) as file:
        first = file.readline().strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None


def _serves(pid: int, data: Path) -> bool:
    command = _command_line(pid)
    # The space and the hyphen of the next option keep `data` from matching `data2`.
    return command is not None and f"postgres -D {data} -" in command


def _all_pids() -> list[int]:
    if _HAS_PROC:
        return [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [int(word) for word in _ps("-ax", "-o", "pid=").split()]


def _command_line(pid: int) -> str | None:
    """Return the command line of a running process; None if there is none, or only a zombie."""
    if _HAS_PROC:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            raw = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if state in "ZX" else os.fsdecode(raw.replace(b"\0", b" "))
    shown = _ps("-p", str(pid), "-o", "stat=,command=")
    state, _, command = shown.partition(" ")
    return None if not shown or state.startswith("Z") else command.strip()


def _ps(*options: str) -> str:
    return subprocess.run(  # noqa: S603 (no shell)
        ["/bin/ps", "-ww", *options], check=False, capture_output=True, text=True
    ).stdout.strip()


# The random passwords of the two roles, in a file that libpq itself can read. The format is that of
# ~/.pgpass, so `psql` and `pg_dump` work with `passfile=<folder>/pgpass`, and no password ever
# appears on a command line.

ROLE = "recollect"
SUPERUSER = "postgres"
_ENTROPY_BYTES = 32
_ASIDE = "pgpass.new"


@dataclass(frozen=True, repr=False)
class Passwords:
    """Passwords by role. Has no repr, so that none is printed by accident."""

    by_role: tuple[tuple[str, str], ...]

    def of(self, role: str) -> str:
        return dict(self.by_role)[role]

    @classmethod
    def read(cls, folder: Path) -> Passwords:
        file = folder / "pgpass"
        try:
            fields = [line.split(":") for line in file.read_text().splitlines()]
            return cls(tuple((role, password) for _, _, _, role, password in fields))
        except (FileNotFoundError, ValueError) as error:
            raise DataFolderUnusable(
                f"The passwords of the embedded Postgres cannot be read from {file}.",
                remedy=f"Restore {file} from the backup that holds {folder / 'data'}.",
            ) from error

    @classmethod
    def make(cls, folder: Path) -> Passwords:
        """Write new passwords to a temporary file, before the cluster that uses them exists."""
        made = tuple((role, secrets.token_urlsafe(_ENTROPY_BYTES)) for role in (ROLE, SUPERUSER))
        lines = "".join(f"*:*:*:{role}:{password}\n" for role, password in made)
        _write_private(folder / _ASIDE, lines)
        return cls(made)

    @staticmethod
    def settle(folder: Path) -> None:
        """Move the passwords into place once their cluster is in place: from then on a `pgpass`
        without a cluster means that the data is lost, not that it never existed.
        """
        with suppress(FileNotFoundError):
            (folder / _ASIDE).rename(folder / "pgpass")

    @contextmanager
    def file_for_initdb(self, folder: Path, account: Account) -> Iterator[Path]:
        """Yield a temporary file with the superuser's password that the account may read."""
        file = folder / "password.new"
        _write_private(file, self.of(SUPERUSER) + "\n")
        try:
            if account.is_switched:
                os.chown(file, account.uid, account.gid)
            yield file
        finally:
            file.unlink()


def _write_private(file: Path, text: str) -> None:
    file.unlink(missing_ok=True)
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "w") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(fd)


_LOCK_POLL_SECONDS = 0.02


@contextmanager
def alone(path: Path, timeout: float) -> Iterator[None]:
    """Lock `path` exclusively; wait at most `timeout` seconds."""
    deadline = time.monotonic() + timeout
    lock = FileLock(path)
    try:
        while not lock.acquire():
            if time.monotonic() > deadline:
                raise ClusterBusy(
                    f"Another process has held {path} for more than {timeout:.0f} seconds.",
                    remedy=f"Wait, or see which process it is (`fuser {path}`) and end it.",
                )
            time.sleep(_LOCK_POLL_SECONDS)
        yield
    finally:
        lock.release()


SYSTEM_FOLDER = Path("/var/lib/recollect")
SOCKET_NAME = ".s.PGSQL.5432"
# sockaddr_un.sun_path has 108 bytes on Linux and 104 on macOS, including the terminating zero.
_SOCKET_PATH_BYTES = 103


def postgres_folder(home: Path, account: Account, system: Path = SYSTEM_FOLDER) -> Path:
    """Return the folder for this home, created if need be. An existing cluster is always used."""
    with explain_os_errors(home):
        home = home.expanduser().absolute()
        _make_folders(home, account.passage)
        home = home.resolve()
    if not home.is_dir():
        raise HomeUnusable(
            f"{home} is not a folder.", remedy="Set RECOLLECT_HOME to a folder, or move the file."
        )
    if not os.access(home, os.X_OK):
        raise HomeUnusable(
            f"This user cannot access {home}.",
            remedy="Run Recollect as the user whose folder it is, or set RECOLLECT_HOME to one of"
            " your own.",
        )
    near = home / "postgres"
    far = system / _digest(home)
    if account.is_switched and _has_had_cluster(far):
        folder = far
    elif _has_had_cluster(near) or account.can_enter(home):
        folder = near
    else:
        folder = far
    if re.search(r'["$`\\]', str(folder)):
        raise HomeUnusable(
            f"Postgres cannot work below {folder}: its tools pass the path to a shell.",
            remedy="Set RECOLLECT_HOME to a path without quotes, dollar signs and backslashes.",
        )
    with explain_os_errors(folder):
        _make_folders(folder, account.passage)
        if folder == far:
            (far / "home").write_text(f"{home}\n")
    _check_access(folder, account)
    return folder


def _has_had_cluster(folder: Path) -> bool:
    """Return whether it has or had a cluster: `pgpass` remains when the data is not mounted."""
    return any((folder / name).exists() for name in ("data", "pgpass"))


def has_cluster(home: Path, *, with_data: bool = False, system: Path = SYSTEM_FOLDER) -> bool:
    """Return whether this home has a cluster, in the home or elsewhere, without creating anything.
    An installation alone counts, too, unless `with_data`.
    """
    inside = "data" if with_data else ""
    return any(os.path.exists(folder / inside) for folder in _folders(home, system))  # noqa: PTH110  # raises for nobody's home


def runs(home: Path) -> bool:
    """Return whether the server of this home runs, without creating or starting anything."""
    with suppress(OSError):
        return any(find_postmaster(folder / "data") is not None for folder in _folders(home))
    return False


def _folders(home: Path, system: Path = SYSTEM_FOLDER) -> tuple[Path, Path]:
    """Return the two possible folders: in the home, and outside it."""
    home = home.expanduser().absolute().resolve()
    return home / "postgres", system / _digest(home)


def socket_folder(folder: Path, account: Account) -> Path:
    """Return a private folder whose path fits in a socket address.

    The short one is in /tmp, not in TMPDIR: all processes must choose the same folder.
    """
    inside = folder / "run"
    fits = len(os.fsencode(inside / SOCKET_NAME)) <= _SOCKET_PATH_BYTES
    # libpq treats a comma in a host as a separator; pg0 splits a path at a space.
    is_plain = re.search(r"[\s,']", str(inside)) is None
    chosen = inside if fits and is_plain else _short_socket_folder(folder, account)
    with explain_os_errors(chosen):
        if chosen == inside or not os.path.lexists(chosen):
            account.own_folder(chosen)
        found = chosen.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != account.uid or found.st_mode & 0o077:
        raise SocketUnusable(
            f"{chosen} exists and is not a private folder of {account.name}.",
            remedy=f"Remove {chosen}, or give Recollect a home with a shorter path.",
        )
    return chosen


def _short_socket_folder(folder: Path, account: Account) -> Path:
    return Path(f"/tmp/recollect-{account.uid}-{_digest(folder)}")  # noqa: S108 (checked by caller)


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def make_folder(folder: Path, mode: int) -> None:
    """Create the folder if it is missing, with `mode` whatever the umask is, and atomically:
    another process that starts now must not find it closed to the account.
    """
    if folder.exists():
        return
    try:
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except (
        FileNotFoundError
    ) as error:  # raised in /proc and other places where no folders can be created
        raise HomeUnusable(
            f"Cannot create {folder} in {folder.parent}.",
            remedy="Set RECOLLECT_HOME to a folder on a disk that this user may write to.",
        ) from error
    except OSError as error:
        error.filename = os.fspath(folder)  # not the temporary name
        raise
    try:
        aside.chmod(mode)
        aside.rename(folder)  # replaces an empty folder
    except OSError:
        aside.rmdir()
        if not folder.is_dir():  # no other process has created it either
            raise


def _make_folders(path: Path, mode: int) -> None:
    """Create folders like mkdir -p, but each with `mode`."""
    for folder in (*reversed(path.parents), path):
        make_folder(folder, mode)


def _check_access(folder: Path, account: Account) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise HomeUnusable(
            f"{folder} cannot be written by this user.",
            remedy="Make the folder writable for this user, or set RECOLLECT_HOME to one that is.",
        )
    data = folder / "data"
    if data.exists() and data.stat().st_uid != account.uid:
        raise DataFolderUnusable(
            f"{data} belongs to user id {data.stat().st_uid}, not to {account.name}.",
            remedy="Run Recollect as the user who made it; as root, name that user in "
            "RECOLLECT_POSTGRES_ACCOUNT.",
        )
    if not account.can_enter(folder):
        raise HomeUnusable(
            f"The account {account.name!r} cannot enter {folder}.",
            remedy=f"Run `chmod o+x` on every parent folder, or move {folder} away.",
        )
