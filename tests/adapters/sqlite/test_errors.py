"""Every result code of SQLite becomes an error that names the file and says what to do."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest

from recollect.adapters.sqlite.errors import translate
from recollect.core.errors import (
    InvalidInput,
    RecollectError,
    StoreBusy,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

PATH = Path("/data/recollect/memories.db")
# Codes that are not failures, or flags and limits that share the prefix.
CODES = {
    name: value
    for name, value in vars(sqlite3).items()
    if name.startswith("SQLITE_") and isinstance(value, int)
}
PRIMARY = {
    StoreBusy: ("BUSY", "LOCKED", "PROTOCOL"),
    StoreReadOnly: ("READONLY",),
    StoreFull: ("FULL",),
    StoreUnavailable: (
        "ABORT",
        "AUTH",
        "CANTOPEN",
        "CONSTRAINT",
        "CORRUPT",
        "ERROR",
        "FORMAT",
        "INTERNAL",
        "INTERRUPT",
        "IOERR",
        "MISMATCH",
        "MISUSE",
        "NOLFS",
        "NOMEM",
        "NOTADB",
        "NOTFOUND",
        "PERM",
        "RANGE",
        "SCHEMA",
        "TOOBIG",
    ),
}
EXPECTED = [(name, kind) for kind, names in PRIMARY.items() for name in names]


def driver_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("what SQLite said")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(("name", "kind"), EXPECTED)
def test_a_code_and_its_extended_codes(name: str, kind: type[RecollectError]) -> None:
    extended = {
        other: value for other, value in CODES.items() if other.startswith(f"SQLITE_{name}_")
    }
    for code in (CODES[f"SQLITE_{name}"], *extended.values()):
        error = translate(driver_error(code), PATH)
        if code == sqlite3.SQLITE_READONLY_DBMOVED:
            assert type(error) is StoreUnavailable
            continue
        if code in (sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMMAP):
            assert type(error) is StoreFull
            continue
        assert type(error) is kind
        assert str(PATH) in str(error)
        assert "what SQLite said" in str(error)
        assert error.remedy


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.EROFS, StoreReadOnly),
        (errno.ENOSPC, StoreFull),
        (errno.EDQUOT, StoreFull),
        (errno.EACCES, StoreUnavailable),
        (errno.ENOTDIR, StoreUnavailable),
    ],
)
def test_errors_of_the_file_system(number: int, kind: type[RecollectError]) -> None:
    error = translate(OSError(number, "what the system said"), PATH)
    assert type(error) is kind
    assert str(PATH) in str(error)


def test_broken_utf_8_is_the_senders_fault() -> None:
    with pytest.raises(UnicodeEncodeError) as refused:
        "\ud800".encode()
    assert type(translate(refused.value, PATH)) is InvalidInput


def test_a_misuse_of_the_driver_stays_what_it_is() -> None:
    error = sqlite3.ProgrammingError("Cannot operate on a closed database.")
    assert translate(error, PATH) is error
