"""Exit codes for scripts, and error messages on stderr.

A person gets two lines: what went wrong and what to do. With `--json` a script gets one JSON object
with the same text. Tracebacks appear only with RECOLLECT_DEBUG.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
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
from recollect.core.privacy.redaction import safe_message, safe_traceback
from recollect.shells.cli.framework.exit import Exit
from recollect.shells.cli.framework.output import note
from recollect.shells.cli.framework.text import one_line


class ExitCode(IntEnum):
    """The exit codes that scripts can rely on."""

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


def guarded(work: Callable[[], object], *, as_json: bool) -> int:
    """Run a command and return its exit code; errors are reported on stderr."""
    try:
        result = work()
    except RecollectError as error:
        report(error, as_json=as_json)
        return exit_code(error)
    except Exit as end:
        return end.exit_code
    except Exception as error:  # noqa: BLE001  # whatever it is, a person sees no traceback
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
    """The error in the format of the REST API, which has no type for unexpected errors."""
    from recollect.wire.problems import KINDS, URN, Problem

    if not isinstance(error, tuple(KINDS)):
        return {"type": URN + "unexpected", "detail": str(error), "remedy": error.remedy}
    return Problem.from_error(error).model_dump(mode="json")
