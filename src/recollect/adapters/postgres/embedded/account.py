"""The account that runs Postgres, because Postgres refuses to run as root.

An ordinary user runs it as itself. Root (most containers) runs it as an unprivileged account. Files
that root must trust (locks, the password) belong to root, in folders of root; the account owns only
the folders that Postgres writes, so a process of that account cannot trick root with a symbolic
link.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from recollect.adapters.postgres.embedded.errors import AccountUnusable, PlatformUnsupported

PRIVATE = 0o077
READABLE = 0o022


@dataclass(frozen=True)
class Account:
    """The operating system account Postgres runs as."""

    name: str
    uid: int
    gid: int
    is_switched: bool

    @property
    def passage(self) -> int:
        """Mode of our folders, which the account may have to pass through but not list."""
        return 0o711 if self.is_switched else 0o700

    def own_folder(self, path: Path, mode: int = 0o700) -> None:
        """Make `path` a folder of the account, whatever the umask is."""
        path.mkdir(mode=0o700, exist_ok=True)
        if self.is_switched:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)
        path.chmod(mode)

    def can_enter(self, folder: Path) -> bool:
        """Return whether the account may pass through `folder` and all its parents.

        The kernel decides, rather than the mode bits: access lists count, too.
        """
        if not self.is_switched:
            return True
        return self.run(["test", "-x", str(folder)], env={}).returncode == 0

    def run(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        umask: int = PRIVATE,
        output: IO[bytes] | int = subprocess.DEVNULL,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run `command` as the account, isolated from our terminal, folder and environment.

        `output` is never a pipe: a server left behind by the command would keep it open, and
        reading it to the end would hang.
        """
        identity: dict[str, Any] = (
            {"user": self.uid, "group": self.gid, "extra_groups": []} if self.is_switched else {}
        )
        try:
            return subprocess.run(  # noqa: S603 (no shell, and the program is ours to choose)
                list(command),
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",  # ours may be closed to the account
                env={"PATH": os.defpath, "LC_ALL": "C", **env},
                umask=umask,
                start_new_session=True,  # Ctrl-C in the terminal must not stop the database
                **identity,
            )
        except PermissionError as error:
            raise AccountUnusable(
                f"{command[0]} could not be run as {self.name!r}: {error.strerror}.",
                remedy="Run Recollect as an ordinary user, or allow this container to switch user "
                "(capabilities SETUID and SETGID).",
            ) from error
        except FileNotFoundError as error:  # also when the loader of the binary is missing (musl)
            raise PlatformUnsupported(
                f"{command[0]} does not run on this system.",
                remedy="Use a glibc based Linux (Debian, Ubuntu, Fedora …) or macOS, or set "
                "RECOLLECT_DATABASE_URL to a Postgres server of your own.",
            ) from error


def account_for(name: str) -> Account:
    """Return the current user or, if that is root, the account called `name`."""
    if os.geteuid() != 0:
        return Account(str(os.geteuid()), os.geteuid(), os.getegid(), is_switched=False)
    remedy = (
        "Set RECOLLECT_POSTGRES_ACCOUNT to an existing account other than root "
        "(`useradd --system recollect` makes one), or run Recollect as an ordinary user."
    )
    try:
        entry = pwd.getpwnam(name)
    except KeyError as error:
        raise AccountUnusable(f"There is no account {name!r} here.", remedy=remedy) from error
    if entry.pw_uid == 0:
        raise AccountUnusable("Postgres refuses to run as root.", remedy=remedy)
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, is_switched=True)
