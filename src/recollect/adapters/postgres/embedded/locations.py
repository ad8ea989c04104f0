"""Where everything of the embedded Postgres lies on disk.

    <home>/postgres/        ours: 0700, or 0711 when root must let the account pass
        pgpass              the passwords, 0600, in libpq's own format; there once `data` is
        users.lock          held (shared) by every process that uses the server
        start.lock          held by the one that starts or stops it
        installation/       the Postgres binaries and the verdict about halfvec
        data/  log/  run/   the account's, 0700: data files, logs, the socket

When root keeps the home where the account cannot go (/root is 0700), the folder is
/var/lib/recollect/<digest of the home's path>/ instead; the file `home` in it tells whose it is.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from recollect.adapters.postgres.embedded.account import Account
from recollect.adapters.postgres.embedded.errors import (
    DataFolderUnusable,
    HomeUnusable,
    SocketUnusable,
    explaining_os_errors,
)
from recollect.adapters.postgres.embedded.postmaster import find_postmaster

SYSTEM_FOLDER = Path("/var/lib/recollect")
SOCKET_NAME = ".s.PGSQL.5432"
# sockaddr_un.sun_path holds 108 bytes on Linux and 104 on macOS, the closing zero included.
_SOCKET_PATH_BYTES = 103


def postgres_folder(home: Path, account: Account, system: Path = SYSTEM_FOLDER) -> Path:
    """The folder for this home, made if need be. A cluster that exists is never left behind."""
    with explaining_os_errors(home):
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
    if account.is_switched and _was_made(far):
        folder = far
    elif _was_made(near) or account.can_enter(home):
        folder = near
    else:
        folder = far
    if re.search(r'["$`\\]', str(folder)):
        raise HomeUnusable(
            f"Postgres cannot work below {folder}: its tools pass the path to a shell.",
            remedy="Set RECOLLECT_HOME to a path without quotes, dollar signs and backslashes.",
        )
    with explaining_os_errors(folder):
        _make_folders(folder, account.passage)
        if folder == far:
            (far / "home").write_text(f"{home}\n")
    _check_access(folder, account)
    return folder


def _was_made(folder: Path) -> bool:
    """Whether it has, or had, a cluster: the passwords stay when the data is not mounted."""
    return any((folder / name).exists() for name in ("data", "pgpass"))


def has_cluster(home: Path, *, with_data: bool = False, system: Path = SYSTEM_FOLDER) -> bool:
    """Whether this home has one, near or far; nothing is made to find out. An installation alone
    counts, too, unless it must be one `with_data`.
    """
    inside = "data" if with_data else ""
    return any(os.path.exists(folder / inside) for folder in _folders(home, system))  # noqa: PTH110  # raises for nobody's home


def runs(home: Path) -> bool:
    """Whether the server of this home runs; nothing is made or started to find out."""
    with suppress(OSError):
        return any(find_postmaster(folder / "data") is not None for folder in _folders(home))
    return False


def _folders(home: Path, system: Path = SYSTEM_FOLDER) -> tuple[Path, Path]:
    """Near the home, and far from it."""
    home = home.expanduser().absolute().resolve()
    return home / "postgres", system / _digest(home)


def socket_folder(folder: Path, account: Account) -> Path:
    """A private folder whose path fits into a socket address.

    The short one lies in /tmp, not in TMPDIR: two processes must come to the same answer.
    """
    inside = folder / "run"
    fits = len(os.fsencode(inside / SOCKET_NAME)) <= _SOCKET_PATH_BYTES
    # libpq reads a comma in a host as the start of another host; pg0 breaks a path at a space.
    is_plain = re.search(r"[\s,']", str(inside)) is None
    chosen = inside if fits and is_plain else _short_socket_folder(folder, account)
    with explaining_os_errors(chosen):
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
    """Make it unless it is there, with `mode` whatever the umask is, and from the first moment on:
    another process that starts now would find it closed to the account.
    """
    if folder.exists():
        return
    try:
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except FileNotFoundError as error:  # so says /proc, and whatever else takes no folders
        raise HomeUnusable(
            f"Cannot create {folder} in {folder.parent}.",
            remedy="Set RECOLLECT_HOME to a folder on a disk that this user may write to.",
        ) from error
    except OSError as error:
        error.filename = os.fspath(folder)  # not the passing name of the moment
        raise
    try:
        aside.chmod(mode)
        aside.rename(folder)  # takes the place of an empty folder
    except OSError:
        aside.rmdir()
        if not folder.is_dir():  # no other process made it, either
            raise


def _make_folders(path: Path, mode: int) -> None:
    """Like mkdir -p, but each folder made gets `mode`."""
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
