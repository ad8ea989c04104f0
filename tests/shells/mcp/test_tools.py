"""How the tools are described to a client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.shells.mcp.schemas import is_sound

from recollect.shells.mcp.server import definition
from recollect.shells.mcp.tools import TOOLS, MemoryTool

# name: (changes nothing, may destroy, repeating it changes nothing more)
HINTS = {
    "memory_store": (False, False, False),
    "memory_recall": (True, False, True),
    "memory_why": (True, False, True),
    "memory_list": (True, False, True),
    "memory_get": (True, False, True),
    "memory_update": (False, True, False),
    "memory_delete": (False, True, True),
    "memory_review": (False, False, False),
    "memory_stats": (True, False, True),
}
_each_tool = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)


def _properties(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(schema, dict):
        yield from schema.get("properties", {}).items()
        for value in schema.values():
            yield from _properties(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _properties(value)


def test_the_nine_tools() -> None:
    assert [tool.name for tool in TOOLS] == list(HINTS)


@_each_tool
def test_all_four_annotations_are_set_and_true(tool: MemoryTool) -> None:
    annotations = definition(tool).annotations
    assert annotations is not None
    hints = (annotations.read_only_hint, annotations.destructive_hint, annotations.idempotent_hint)
    assert hints == HINTS[tool.name]
    assert annotations.open_world_hint is False
    assert definition(tool).title == tool.title


@_each_tool
def test_schemas_are_sound_objects(tool: MemoryTool) -> None:
    described = definition(tool)
    for schema in (described.input_schema, described.output_schema):
        assert schema is not None
        is_sound(schema)
        assert schema["type"] == "object"
    assert described.input_schema["additionalProperties"] is False


@_each_tool
def test_every_argument_is_described(tool: MemoryTool) -> None:
    described = definition(tool)
    assert described.description
    for name, property in _properties(described.input_schema):
        assert property.get("description"), f"{tool.name}: {name}"


def test_ranges_are_described() -> None:
    schemas = {tool.name: definition(tool).input_schema["properties"] for tool in TOOLS}
    store, recall = schemas["memory_store"], schemas["memory_recall"]
    assert (store["importance"]["minimum"], store["importance"]["maximum"]) == (0, 1)
    assert "episode" in store["category"]["enum"]
    assert (recall["limit"]["minimum"], recall["limit"]["maximum"]) == (1, 100)
