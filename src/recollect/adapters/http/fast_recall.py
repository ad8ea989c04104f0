"""Recall from a server with the standard library alone, for a hook that has no time for more.

The usual client and its models take longer to import than a hook may run (ADR 0020). This one sends
the same request and applies the same rules about what may leave this machine. A test compares it
with `RemoteService`.
"""

from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final
from urllib.parse import urlsplit

from recollect.core.errors import StoreUnavailable
from recollect.core.memory.memory import Scope
from recollect.core.privacy.egress import (
    is_loopback,
    sensitive_query_error,
    unencrypted_key_error,
)
from recollect.core.recall.request import Hit, RecallRequest
from recollect.wire.fast_recall import HOOK_HEADER, read_hits, write_request

_MAX_ANSWER: Final = 4_000_000


def recall(
    url: str, key: str, request: RecallRequest, seconds: float, scope: Scope | None = None
) -> list[Hit]:
    """Return the server's hits; raise StoreUnavailable without a readable answer in time. `scope`
    is the scope of the request, if it was resolved on this machine.
    """
    asked = scope or request.scope
    address = url.strip().rstrip("/")
    here = is_loopback(address)
    if not here and request.must_stay:
        raise sensitive_query_error(is_declared=request.is_sensitive)
    if not here and not address.lower().startswith("https://"):
        raise unencrypted_key_error()
    try:
        return read_hits(_post(address, key, write_request(request, asked), seconds), asked)
    except (OSError, HTTPException) as error:
        raise StoreUnavailable(
            f"the server did not answer a hook ({type(error).__name__})",
            remedy="Start the server, or check RECOLLECT_API_URL.",
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreUnavailable(
            "the server at RECOLLECT_API_URL is not a Recollect API",
            remedy="Check RECOLLECT_API_URL and any proxy in between.",
        ) from error


def _post(address: str, key: str, question: object, seconds: float) -> Any:  # noqa: ANN401  # JSON
    parts = urlsplit(address)
    connect = HTTPSConnection if parts.scheme.lower() == "https" else HTTPConnection
    connection = connect(parts.hostname or "", parts.port, timeout=seconds)
    try:
        connection.request(
            "POST",
            f"{parts.path}/api/v1/recall",
            json.dumps(question).encode("ascii"),
            {
                "Authorization": f"Bearer {key.strip()}",
                "Content-Type": "application/json",
                HOOK_HEADER: str(int(seconds * 1000)),
            },
        )
        response = connection.getresponse()
        body = response.read(_MAX_ANSWER)
        if response.status != 200:
            raise HTTPException(f"status {response.status}")
        return json.loads(body)
    finally:
        connection.close()
