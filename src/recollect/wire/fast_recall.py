"""A recall and its answer as plain JSON values, for a hook that has no time for pydantic.

Importing the shapes of `wire/recall.py` takes longer than a hook may run (ADR 0020). This reads
only what a hook needs from the answer. A test compares both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from recollect.core.memory.memory import STORED, Memory, Scope
from recollect.core.memory.project import is_short_for
from recollect.core.recall.request import LEGS, Hit, LegName, LegPlace, Passage, RecallRequest
from recollect.wire.plain import to_plain

HOOK_HEADER: Final = "Recollect-Hook-Ms"
"""Marks a request of a hook: the milliseconds that it waits before it continues without the
server."""


def write_request(request: RecallRequest, scope: Scope) -> dict[str, object]:
    """Return the request, within this scope, as JSON values."""
    within = to_plain(replace(scope, valid_at=None))
    return {**to_plain(request), "scope": within, "explain": True}


def read_hits(answer: Any, scope: Scope) -> list[Hit]:  # noqa: ANN401  # JSON
    """Read the hits of an answer; ValueError, KeyError, TypeError or AttributeError if it is
    malformed.
    """
    # The server is not trusted to return only what was asked for: drop memories of other projects.
    asked, resolved = scope.project, answer.get("project")
    is_match = asked is not None and isinstance(resolved, str) and is_short_for(asked, resolved)
    covers = replace(scope, project=resolved if is_match else asked).covers
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
        attached=tuple(map(_memory, values.get("attached", ()))),
        duplicates=tuple(map(UUID, values.get("duplicates", ()))),
        passage=_passage(values.get("passage")),
    )


def _passage(values: Any) -> Passage | None:  # noqa: ANN401  # JSON
    if values is None:
        return None
    return Passage(str(values["text"]), int(values["start"]), int(values["end"]))


def _memory(values: Any) -> Memory:  # noqa: ANN401  # JSON
    known = {
        field.name: field.from_json(values[field.name]) for field in STORED if field.name in values
    }
    return Memory(**{"owner": "", **known})
