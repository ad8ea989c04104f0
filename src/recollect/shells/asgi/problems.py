"""Problem details as responses, for Recollect's errors and those of HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from math import ceil
from typing import Final

from starlette.responses import Response

from recollect.core.errors import Overloaded, RecollectError, StoreBusy, StoreUnavailable
from recollect.wire.problems import KINDS, Kind, Problem

PROBLEM_TYPE: Final = "application/problem+json"
RETRY_SECONDS: Final = 2

MALFORMED: Final = Kind("malformed", HTTPStatus.BAD_REQUEST, "The request could not be read")
NO_SUCH_PATH: Final = Kind("no-such-path", HTTPStatus.NOT_FOUND, "Nothing is served at this path")
WRONG_METHOD: Final = Kind(
    "wrong-method", HTTPStatus.METHOD_NOT_ALLOWED, "This path does not support that method"
)
TOO_SLOW: Final = Kind("too-slow", HTTPStatus.REQUEST_TIMEOUT, "The request was sent too slowly")
TOO_LARGE: Final = Kind("too-large", HTTPStatus(413), "The request is too large")
WRONG_HOST: Final = Kind(
    "wrong-host", HTTPStatus.MISDIRECTED_REQUEST, "This server does not accept that host name"
)
WRONG_ORIGIN: Final = Kind(
    "wrong-origin", HTTPStatus.FORBIDDEN, "This server does not accept requests from that site"
)
UNEXPECTED: Final = Kind("unexpected", HTTPStatus.INTERNAL_SERVER_ERROR, "Internal server error")

_TEMPORARY: Final = {KINDS[StoreUnavailable].type, KINDS[StoreBusy].type}


def problem(kind: Kind, detail: str, remedy: str, field: str | None = None) -> Problem:
    return Problem(
        type=kind.type,
        title=kind.title,
        status=kind.status,
        detail=detail,
        remedy=remedy,
        field=field,
    )


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Return a problem as a response, in ASCII: a quoted text may contain a lone surrogate."""
    sent = dict(headers or {})
    if problem.status == HTTPStatus.UNAUTHORIZED:
        sent["WWW-Authenticate"] = 'Bearer realm="recollect"'
    if problem.type in _TEMPORARY:
        sent["Retry-After"] = str(RETRY_SECONDS)
    body = json.dumps(problem.model_dump(exclude_none=True)).encode("ascii")
    return Response(body, problem.status, sent, PROBLEM_TYPE)


def error_response(error: RecollectError) -> Response:
    headers = None
    if isinstance(error, Overloaded):
        headers = {"Retry-After": str(max(1, ceil(error.seconds)))}
    return problem_response(Problem.from_error(error), headers)
