"""Recall from a server with the standard library alone, for a hook that has no time for more.

The usual client and its models take longer to import than a hook may run (ADR 0020). This one sends
the same request, keeps the same rules about what may leave this machine, and reads only what a hook
needs from the answer. A test compares it with `RemoteService`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from recollect.core.errors import InvalidInput, StoreUnavailable
from recollect.core.memory.links import from_values
from recollect.core.memory.memory import Memory
from recollect.core.memory.project import is_short_for
from recollect.core.privacy.egress import is_loopback
from recollect.core.recall.request import LEGS, Hit, LegName, LegPlace, RecallRequest
from recollect.core.text.analysis import clean_query

_MAX_ANSWER: Final = 4_000_000


def recall(url: str, key: str, request: RecallRequest, seconds: float) -> list[Hit]:
    """The server's hits; StoreUnavailable when there is no answer that can be read in time."""
    address = url.strip().rstrip("/")
    here = is_loopback(address)
    if not here and request.must_stay:
        raise InvalidInput(
            "a sensitive query stays on this machine, and the server is on another",
            field="is_sensitive",
            remedy="Ask without the secret.",
        )
    if not here and not address.lower().startswith("https://"):
        raise InvalidInput(
            "a key would cross the network unencrypted",
            field="RECOLLECT_API_URL",
            remedy="Use https, or an ssh tunnel to a port on this machine. A tunnel counts as this "
            "machine, so sensitive memories are sent through it.",
        )
    try:
        return _hits(_post(address, key, _question(request), seconds), request)
    except (OSError, HTTPException) as error:
        raise StoreUnavailable(
            f"the server did not answer a hook ({type(error).__name__})",
            remedy="Start the server, or check RECOLLECT_API_URL.",
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreUnavailable(
            "what answers at RECOLLECT_API_URL is not a Recollect API",
            remedy="Check RECOLLECT_API_URL and any proxy in between.",
        ) from error


def _question(request: RecallRequest) -> dict[str, object]:
    scope = request.checked().scope
    return {
        "query": clean_query(request.query),
        "limit": request.limit,
        "sort_by": request.sort_by,
        "scope": {
            **({} if scope.project is None else {"project": scope.project}),
            **({"with_global": True} if scope.with_global else {}),
        },
        "exclude": sorted(map(str, request.exclude)),
        "is_sensitive": request.is_sensitive,
        "explain": True,
    }


def _post(address: str, key: str, question: object, seconds: float) -> Any:  # noqa: ANN401  # JSON
    parts = urlsplit(address)
    connect = HTTPSConnection if parts.scheme.lower() == "https" else HTTPConnection
    connection = connect(parts.hostname or "", parts.port, timeout=seconds)
    try:
        connection.request(
            "POST",
            f"{parts.path}/api/v1/recall",
            json.dumps(question).encode("ascii"),
            {"Authorization": f"Bearer {key.strip()}", "Content-Type": "application/json"},
        )
        response = connection.getresponse()
        body = response.read(_MAX_ANSWER)
        if response.status != 200:
            raise HTTPException(f"status {response.status}")
        return json.loads(body)
    finally:
        connection.close()


def _hits(answer: Any, request: RecallRequest) -> list[Hit]:  # noqa: ANN401  # JSON
    # Trusted only as far as it answers what was asked: no memory of another project.
    asked, resolved = request.scope.project, answer.get("project")
    is_meant = asked is not None and isinstance(resolved, str) and is_short_for(asked, resolved)
    covers = replace(request.scope, project=resolved if is_meant else asked).covers
    hits = [hit for values in answer["hits"] if covers((hit := _hit(values)).memory)]
    return [replace(hit, attached=tuple(filter(covers, hit.attached))) for hit in hits]


def _hit(values: Any) -> Hit:  # noqa: ANN401  # JSON
    why = values["explanation"]
    legs: dict[LegName, LegPlace] = {
        name: LegPlace(
            None if (rank := place["rank"]) is None else int(rank),
            float(place["score"]),
            float(place["contribution"]),
            evidence=float(place["evidence"]),
        )
        for name in LEGS
        if (place := why["legs"].get(name)) is not None
    }
    return Hit(
        _memory(values["memory"]),
        float(values["score"]),
        float(why["fused"]),
        float(why["prior"]),
        legs,
        float(why["bonus"]),
        attached=tuple(map(_memory, values.get("attached", ()))),
    )


def _memory(values: Any) -> Memory:  # noqa: ANN401  # JSON
    return Memory(
        id=UUID(values["id"]),
        owner=str(values.get("owner", "")),
        content=str(values["content"]),
        created_at=datetime.fromisoformat(values["created_at"]),
        updated_at=datetime.fromisoformat(values["updated_at"]),
        category=str(values["category"]),
        tags=tuple(map(str, values["tags"])),
        expanded_keywords=tuple(map(str, values["expanded_keywords"])),
        importance=float(values["importance"]),
        is_sensitive=bool(values["is_sensitive"]),
        project=_text(values["project"]),
        session=_text(values["session"]),
        version=int(values["version"]),
        links=from_values(values.get("links", ())),
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)
