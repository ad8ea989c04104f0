"""Teaches schemathesis what the OpenAPI document cannot say."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import schemathesis
from hypothesis import strategies as st

from recollect.core.memory.listing import Cursor

# Any other text is refused, as it should be, but then no page after the first is ever requested.
cursors = st.builds(
    lambda *position: Cursor(*position).encode(),
    st.datetimes(timezones=st.timezones()),
    st.uuids(),
)
schemathesis.openapi.format("cursor", cursors)

LIFETIME = {"valid_from": "2000-01-01T00:00:00Z", "valid_until": "2099-01-01T00:00:00Z"}
# Anything else is to be refused.
_DATE = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$")


@schemathesis.hook
def before_call(context: object, case: schemathesis.Case[Any], kwargs: dict[str, Any]) -> None:
    """A deadline of 10 ms is legal, and recalls that miss it are answered with 503. On a busy
    machine they would hide every other error of recall. A weight of 0 is legal, but not
    for every leg at once. What becomes an episode needs a session, which it may have already. A
    memory may be linked to any other, but not to itself. A key expires in the future, and an admin
    key has no project. A lifetime ends after it begins.
    """
    path = case.path_parameters
    if path and "target" in path and path["target"] == path.get("reference"):
        path["target"] = str(uuid4())
    body = case.body
    if not isinstance(body, dict):
        return
    if isinstance(body.get("expires_at"), str):
        body["expires_at"] = "2099-01-01T00:00:00Z"
    _end_after_beginning(body)
    if body.get("role") == "admin":
        body.pop("project", None)
    if body.get("deadline_ms") in range(60_000):
        body["deadline_ms"] = 60_000
    if case.method.upper() == "PATCH" and body.get("category") == "episode":
        body["session"] = body.get("session") or "s"
    for weights, name in ((body, "lexical_weight"), (body.get("weights"), "lexical")):
        if isinstance(weights, dict) and weights.get(name) == 0:
            weights[name] = 1


def _end_after_beginning(body: dict[str, Any]) -> None:
    memories = body.get("memories")
    for fields in (body, *(memories if isinstance(memories, list) else ())):
        for name, moment in LIFETIME.items():
            if isinstance(fields, dict) and _DATE.match(str(fields.get(name))):
                fields[name] = moment
