"""Formats with one JSON object per line: our own export, and the graph of MCP's reference memory
server. An unreadable line is reported and skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from recollect.core.errors import InvalidInput
from recollect.core.imports.found import Exact, Found, ImportProblem, Item
from recollect.core.imports.jsonl import check_header, from_values

# A line number and the line, or None if it is too long to be read.
Lines = Iterable[tuple[int, bytes | None]]


def objects(lines: Lines) -> Iterator[tuple[str, dict[str, Any]] | ImportProblem]:
    for number, raw in lines:
        place = f"line {number}"
        if raw is None:
            yield ImportProblem(
                place, "the line is longer than any memory", "Split or remove the line."
            )
            continue
        data = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if not data.strip():
            continue
        try:
            value = json.loads(data.decode("utf-8"))
        except UnicodeDecodeError:
            remedy = "Convert the file first, for example with `iconv -t UTF-8`."
            yield ImportProblem(place, "the line is not valid UTF-8", remedy)
            continue
        except (ValueError, RecursionError):
            yield ImportProblem(place, "the line is not JSON", "Correct or remove the line.")
            continue
        if isinstance(value, dict):
            yield place, value
        else:
            yield ImportProblem(
                place, "the line is not a JSON object", "Correct or remove the line."
            )


def own_export(lines: Lines, owner: str) -> Iterator[Item]:
    """Read our own export. Concatenated files have several headers: each is checked."""
    is_first = True
    for item in objects(lines):
        if isinstance(item, ImportProblem):
            yield item
            continue
        place, values = item
        try:
            if is_first or "format" in values:
                is_first = False
                check_header(values)
                continue
            yield Exact(place, from_values(values, owner))
        except InvalidInput as error:
            yield ImportProblem(place, str(error), error.remedy)
            if "format" in values:
                return  # the rest is in an unknown version


def mcp_graph(lines: Lines) -> Iterator[Item]:
    for item in objects(lines):
        if isinstance(item, ImportProblem):
            yield item
        else:
            place, values = item
            yield from graph_node(place, values)


def graph_node(place: str, values: dict[str, Any]) -> Iterator[Item]:
    """Yield a memory for each observation of an entity, or one for a relation."""
    kind = values.get("type")
    if kind == "entity" or (kind is None and "observations" in values):
        yield from _entity(place, values)
    elif kind == "relation" or (kind is None and "relationType" in values):
        yield from _relation(place, values)
    else:
        yield _unknown(place, "neither an entity nor a relation")


def _entity(place: str, values: dict[str, Any]) -> Iterator[Item]:
    name, kind = values.get("name"), values.get("entityType")
    observations = values.get("observations", [])
    if not isinstance(name, str) or not name.strip() or not isinstance(observations, list):
        yield _unknown(place, "an entity without a name or a list of observations")
        return
    tags: tuple[str, ...] = (kind,) if isinstance(kind, str) and kind.strip() else ()
    named = values.get("tags")
    tags += (
        tuple(label for label in named if isinstance(label, str)) if isinstance(named, list) else ()
    )
    if not observations:
        yield Found(f"{name} is of the kind {kind or 'thing'}.", tags=tags, place=place)
    for number, text in enumerate(observations, 1):
        if not isinstance(text, str):
            yield _unknown(f"{place}, observation {number}", "an observation that is not text")
        elif text.strip():
            about = text if name.lower() in text.lower() else f"{name}: {text}"
            where = f"{place}, observation {number}"
            yield Found(about, tags=tags, expanded_keywords=(name,), place=where)


def _relation(place: str, values: dict[str, Any]) -> Iterator[Item]:
    parts = [values.get(name) for name in ("from", "relationType", "to")]
    texts = [part.strip() for part in parts if isinstance(part, str) and part.strip()]
    if len(texts) < len(parts):
        yield _unknown(place, "a relation that lacks from, to or relationType")
        return
    source, relation, target = texts
    verb = relation.replace("_", " ")
    yield Found(f"{source} {verb} {target}.", expanded_keywords=(source, target), place=place)


def _unknown(place: str, what: str) -> ImportProblem:
    return ImportProblem(place, f"this is {what}", "Correct or remove it.")
