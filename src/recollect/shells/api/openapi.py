"""Complete the OpenAPI document: examples, the problems of each operation, and the actual limits.

Examples are in `examples.json`. There and in the responses of routes, "$name" refers to an example,
so that none is read before the document is requested.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from recollect.core.errors import (
    AmbiguousId,
    Conflict,
    Forbidden,
    InvalidInput,
    NotAllowed,
    NotFound,
    Overloaded,
    RateLimited,
    StoreUnavailable,
)
from recollect.core.memory.memory import Limits
from recollect.resources import read_text
from recollect.shells.asgi.problems import (
    MALFORMED,
    NO_SUCH_PATH,
    PROBLEM_TYPE,
    TOO_LARGE,
    TOO_SLOW,
    UNEXPECTED,
    WRONG_HOST,
    WRONG_ORIGIN,
    problem,
)
from recollect.wire.problems import KINDS, Kind, Problem

PREFIX: Final = "/api/v1"

# One example of each kind of problem.
_EXAMPLES: Final[dict[Kind, tuple[str, str]]] = {
    KINDS[InvalidInput]: (
        "importance 7.0 is outside 0..1",
        "Pass a number from 0 (trivial) to 1 (vital).",
    ),
    KINDS[AmbiguousId]: (
        "0193 matches several memories: 0193a5f0-7c1e-7…, 0193a5f0-9b22-7…",
        "Use more digits of the id.",
    ),
    KINDS[NotFound]: (
        "there is no memory 0193a5f07c1e",
        "Run `recollect list` to see what is stored; forgotten memories are not shown.",
    ),
    KINDS[Conflict]: (
        "the change is based on version 1, but version 2 is current",
        "Read the memory again and apply the change to its current version.",
    ),
    KINDS[NotAllowed]: (
        "unknown key",
        "Send `Authorization: Bearer KEY`; `recollect keys create` on the server creates a key.",
    ),
    KINDS[Forbidden]: (
        "this needs a key with the role admin; this key's role is member",
        "Use a key with the role admin; `recollect keys create --role admin` creates one.",
    ),
    KINDS[StoreUnavailable]: (
        "Postgres cannot be reached",
        "Try again in a moment; run `recollect doctor` to find the cause.",
    ),
    KINDS[Overloaded]: (
        "the server cannot answer this in time",
        "Try again after the number of seconds in Retry-After.",
    ),
    KINDS[RateLimited]: (
        "this key has reached its limit of 600 writes per minute",
        "Try again in 4 seconds.",
    ),
    MALFORMED: (
        "the body is not valid JSON",
        "Send valid JSON in UTF-8, with numbers and nesting of a reasonable size.",
    ),
    NO_SUCH_PATH: ("this path is not part of the API", "See /api/v1/docs for the available paths."),
    TOO_SLOW: (
        "the request's body was not received within 30 seconds",
        "Send it again over a faster connection, or send less at once.",
    ),
    TOO_LARGE: ("the request's body is over 1,048,576 bytes", "Send less at once."),
    WRONG_ORIGIN: (
        "the Origin header names a site that this server does not accept",
        "Open the page that the server printed.",
    ),
    WRONG_HOST: (
        "the Host header names a host that this server does not accept",
        "Use the address that the server printed.",
    ),
    UNEXPECTED: ("the server could not finish this request", "Try again."),
}
_COMMON: Final = (TOO_LARGE, WRONG_HOST, WRONG_ORIGIN, UNEXPECTED)

# Problems that occur together: whenever a store is queried for an owner; whenever input can be
# invalid; whenever a path names a memory by reference.
OWNED: Final = (
    KINDS[NotAllowed],
    KINDS[Forbidden],
    TOO_SLOW,
    KINDS[StoreUnavailable],
    KINDS[Overloaded],
)
SENT: Final = (*OWNED, KINDS[InvalidInput], KINDS[RateLimited])
REFERRED: Final = (KINDS[NotFound], NO_SUCH_PATH, KINDS[AmbiguousId])

Responses = dict[int | str, dict[str, Any]]


def example(name: str, description: str) -> dict[str, Any]:
    """Return a response that shows this example."""
    return {
        "description": description,
        "content": {"application/json": {"example": f"${name}"}},
    }


def problems(*kinds: Kind) -> Responses:
    """Return these problems, and those of any request, as OpenAPI responses by status."""
    by_status: dict[int, list[Kind]] = {}
    for kind in (*kinds, *_COMMON):
        by_status.setdefault(int(kind.status), []).append(kind)
    return {status: _response(same) for status, same in by_status.items()}


def _response(kinds: Iterable[Kind]) -> dict[str, Any]:
    examples = {}
    for kind in kinds:
        detail, remedy = _EXAMPLES[kind]
        shown = problem(kind, detail, remedy).model_dump(exclude_none=True)
        examples[kind.name] = {"summary": kind.title, "value": shown}
    return {
        "description": "; or: ".join(kind.title for kind in kinds),
        "content": {
            PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": examples}
        },
    }


def complete_document(document: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Add the examples, the format of problems, and this server's content limit to the generated
    document.
    """
    _fill_in_examples(document)
    schemas = document["components"]["schemas"]
    schemas["Problem"] = Problem.model_json_schema()
    for name in ("DraftIn", "ChangesIn"):
        schemas[name]["properties"]["content"]["maxLength"] = limits.content
    # Any object gets an answer, with the reason if it is refused; only drafts are stored.
    batch = schemas["BatchIn"]["properties"]["memories"]
    batch["items"] = {"anyOf": [{"$ref": "#/components/schemas/DraftIn"}, {"type": "object"}]}
    return document


def _fill_in_examples(document: dict[str, Any]) -> None:
    """Replace the names of examples with the examples."""
    examples = json.loads(read_text("recollect.shells.api", "examples.json"))
    for operations in document["paths"].values():
        for operation in operations.values():
            for response in operation["responses"].values():
                shown = response.get("content", {}).get("application/json", {})
                if "example" in shown:
                    shown["example"] = _fill_value(shown["example"], examples)


def _fill_value(value: Any, examples: dict[str, Any]) -> Any:  # noqa: ANN401  # a JSON value
    if isinstance(value, str) and value.startswith("$"):
        return _fill_value(examples[value[1:]], examples)
    if isinstance(value, dict):
        return {name: _fill_value(each, examples) for name, each in value.items()}
    if isinstance(value, list):
        return [_fill_value(each, examples) for each in value]
    return value
