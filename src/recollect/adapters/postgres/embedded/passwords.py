"""The random passwords of the two roles, in a file that libpq itself can read.

The format is that of ~/.pgpass, so `psql` and `pg_dump` work with `passfile=<folder>/pgpass` and no
password ever stands in a command line.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from recollect.adapters.postgres.embedded.account import Account
from recollect.adapters.postgres.embedded.errors import DataFolderUnusable

ROLE = "recollect"
SUPERUSER = "postgres"
_ENTROPY_BYTES = 32
_ASIDE = "pgpass.new"


@dataclass(frozen=True, repr=False)
class Passwords:
    """Role to password. Has no repr, so that none is printed by accident."""

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
        """New passwords, set aside before there is a cluster, so that none exists without them."""
        made = tuple((role, secrets.token_urlsafe(_ENTROPY_BYTES)) for role in (ROLE, SUPERUSER))
        lines = "".join(f"*:*:*:{role}:{password}\n" for role, password in made)
        _write_private(folder / _ASIDE, lines)
        return cls(made)

    @staticmethod
    def settle(folder: Path) -> None:
        """Put the passwords in their place once their cluster is in its own: from then on a
        `pgpass` without a cluster means that the data is lost, not that it was never there.
        """
        with suppress(FileNotFoundError):
            (folder / _ASIDE).rename(folder / "pgpass")

    @contextmanager
    def file_for_initdb(self, folder: Path, account: Account) -> Iterator[Path]:
        """The superuser's password in a file that the account may read for a moment."""
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
