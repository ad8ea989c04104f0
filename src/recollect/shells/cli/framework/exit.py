"""The exit codes of commands, which scripts can rely on."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from recollect.core.errors import (
    Conflict,
    InvalidInput,
    ModelUnavailable,
    NotAllowed,
    NotFound,
    RecollectError,
    StoreError,
)


class Exit(Exception):
    """Exit with this code and print nothing more."""

    def __init__(self, exit_code: int = 0) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


class ExitCode(IntEnum):
    OK = 0
    UNEXPECTED = 1
    INVALID = 2
    NOT_FOUND = 3
    NOT_ALLOWED = 4
    CONFLICT = 5
    STORE = 6
    INTERRUPTED = 130


MEANINGS: Final = {
    ExitCode.OK: "success; also a recall that found nothing",
    ExitCode.UNEXPECTED: "unexpected error; doctor found a problem; a confirmation was declined",
    ExitCode.INVALID: "invalid usage or input",
    ExitCode.NOT_FOUND: "no such memory or key",
    ExitCode.NOT_ALLOWED: "the server rejected the key, or the key lacks permission",
    ExitCode.CONFLICT: "the memory has changed since, or its id is taken",
    ExitCode.STORE: "the store or a model is unreachable, busy, read-only or full",
    ExitCode.INTERRUPTED: "interrupted (Ctrl-C)",
}

_CODES: Final = (
    (InvalidInput, ExitCode.INVALID),
    (NotFound, ExitCode.NOT_FOUND),
    (NotAllowed, ExitCode.NOT_ALLOWED),
    (Conflict, ExitCode.CONFLICT),
    (StoreError, ExitCode.STORE),
    (ModelUnavailable, ExitCode.STORE),
)


def exit_code(error: RecollectError) -> ExitCode:
    return next((code for kind, code in _CODES if isinstance(error, kind)), ExitCode.UNEXPECTED)
