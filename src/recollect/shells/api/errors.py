"""Turn every error of the API into one format: problem details."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from recollect.core.errors import InvalidInput, RecollectError
from recollect.shells.api.openapi import PREFIX
from recollect.shells.asgi.problems import (
    MALFORMED,
    NO_SUCH_PATH,
    WRONG_METHOD,
    error_response,
    problem,
    problem_response,
)
from recollect.wire.problems import Problem, refusal

_SEE_DOCS = f"See {PREFIX}/docs for what each request accepts."


def add_error_handlers(app: FastAPI) -> None:
    app.exception_handler(RecollectError)(_answer_recollect_error)
    app.exception_handler(RequestValidationError)(_answer_validation_error)
    app.exception_handler(HTTPException)(_answer_http_error)


async def _answer_recollect_error(_: Request, error: RecollectError) -> Response:
    return error_response(error)


async def _answer_validation_error(_: Request, error: RequestValidationError) -> Response:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return problem_response(_refuse_malformed_json())
    return error_response(_refuse_value(first))


async def _answer_http_error(request: Request, error: HTTPException) -> Response:
    headers = error.headers
    match error.status_code:
        case HTTPStatus.NOT_FOUND:
            answer = problem(NO_SUCH_PATH, "this path is not part of the API", _SEE_DOCS)
        case HTTPStatus.METHOD_NOT_ALLOWED:
            answer = problem(WRONG_METHOD, "this path does not support that method", _SEE_DOCS)
            headers = {"Allow": await run_in_threadpool(_list_methods, request)}
        case HTTPStatus.BAD_REQUEST:
            answer = _refuse_malformed_json()
        case status:
            kind = HTTPStatus(status)
            answer = Problem(
                type="about:blank",
                title=kind.phrase,
                status=status,
                detail=kind.description or kind.phrase,
                remedy=_SEE_DOCS,
            )
    return problem_response(answer, headers)


def _list_methods(request: Request) -> str:
    """List every method of the path; the router knows only those of the first matching route."""
    app: FastAPI = request.app
    template = getattr(request.scope.get("route"), "path", "")
    return ", ".join(method.upper() for method in app.openapi()["paths"].get(template, {"get": {}}))


def _refuse_malformed_json() -> Problem:
    return problem(
        MALFORMED,
        "the body is not valid JSON",
        "Send valid JSON in UTF-8, with numbers and nesting of a reasonable size.",
        "body",
    )


def _refuse_value(first: dict[str, Any]) -> InvalidInput:
    _, *path = first["loc"]
    if path:
        return refusal(first, path, see=_SEE_DOCS)
    return InvalidInput(
        "the body is not a JSON object",
        field="body",
        remedy=f"Send a JSON object with `Content-Type: application/json`. {_SEE_DOCS}",
    )
