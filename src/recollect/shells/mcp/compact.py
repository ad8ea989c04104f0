"""Schemas and answers in as few words as possible: a model reads every one of them.

Definitions are read in every conversation, answers in most. Left out: what `core` checks anyway,
defaults, and repetitions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

# Checked by core with its own messages, a repeated name, or the default behaviour.
_NOT_TOLD: Final = {
    *("title", "default", "pattern", "minLength", "maxLength", "maxItems", "propertyNames"),
}
# In a recall without `explain`, what only an operator needs.
_OF_AN_OPERATOR: Final = ("fusion", "legs", "took_ms")


def input_schema(
    schema: Mapping[str, Any],
    words: Mapping[str, str],
    of_a_scope: Mapping[str, str],
    unlisted: Collection[str] = (),
) -> dict[str, Any]:
    """The arguments of a tool, each with its description if it has one."""
    lean = {key: value for key, value in _lean(schema).items() if key != "description"}
    made = _without(_inline(lean, lean.pop("$defs", {})), unlisted)
    return _describe(made, words, of_a_scope) | {"additionalProperties": False}


def _without(schema: Mapping[str, Any], unlisted: Collection[str]) -> dict[str, Any]:
    """The schema without these properties, including those of nested objects."""
    properties = {
        name: _without(item, unlisted) if "properties" in item else item
        for name, item in schema["properties"].items()
        if name not in unlisted
    }
    return {**schema, "properties": properties}


def output_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What an answer may hold. Nothing is required: empty values are left out."""
    bare: dict[str, Any] = _bare(_lean(schema))
    return bare


def answer(values: Mapping[str, Any], *, explained: bool = True) -> dict[str, Any]:
    """The answer without absent values and, for memories, without defaults."""
    left_out = () if explained else _OF_AN_OPERATOR
    return {
        key: _compact(value)
        for key, value in _memory(values).items()
        if value is not None and key not in left_out
    }


def _compact(value: object) -> object:
    if isinstance(value, list):
        return [_compact(item) for item in value]
    if isinstance(value, dict):
        held = _memory(_hit(value)).items()
        return {key: _compact(item) for key, item in held if item is not None and item != []}
    return value


def _hit(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a long text only the passage that matched; `memory_get` returns all of it."""
    if values.get("passage") is None or "memory" not in values:
        return values
    memory = {key: value for key, value in values["memory"].items() if key != "content"}
    return {**values, "memory": memory}


def _memory(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """A memory's owner is the caller, most of its fields are empty, and who wrote it is for
    people.
    """
    if not {"version", "owner"} <= values.keys():
        return values
    is_unchanged = values.get("updated_at") == values.get("created_at")
    return {
        key: value
        for key, value in values.items()
        if key not in ("owner", "changed_by")
        and value not in (None, [])
        and value is not False
        and not (key == "updated_at" and is_unchanged)
    }


def _lean(node: Any) -> Any:  # noqa: ANN401  # a JSON value
    if isinstance(node, list):
        return [_lean(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    lean: dict[str, Any] = {}
    for key, value in node.items():
        if key in ("properties", "$defs"):
            lean[key] = {name: _lean(item) for name, item in value.items()}
        elif key not in _NOT_TOLD and (key, value) != ("format", "uuid"):
            lean[key] = _lean(value)
    either = lean.get("anyOf")
    if isinstance(either, list) and {"type": "null"} in either:  # it may be left out instead
        rest = [item for item in either if item != {"type": "null"}]
        if len(rest) == 1:
            del lean["anyOf"]
            lean |= rest[0]
    return lean


def _inline(node: Any, definitions: Mapping[str, Any]) -> Any:  # noqa: ANN401  # a JSON value
    if isinstance(node, list):
        return [_inline(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if isinstance(reference := node.get("$ref"), str):
        named = definitions[reference.rpartition("/")[2]]
        node = {**named, **{key: value for key, value in node.items() if key != "$ref"}}
    return {key: _inline(value, definitions) for key, value in node.items()}


def _describe(
    node: Mapping[str, Any], words: Mapping[str, str], of_a_scope: Mapping[str, str]
) -> dict[str, Any]:
    made = {key: value for key, value in node.items() if key != "additionalProperties"}
    if isinstance(items := node.get("items"), dict):
        made["items"] = _describe(items, words, of_a_scope)
        made["items"].pop("description", None)
    if isinstance(properties := node.get("properties"), dict):
        descriptions = {**words, **of_a_scope} if "sessions" in properties else words
        made["properties"] = {
            name: _argument(name, _describe(item, words, of_a_scope), descriptions)
            for name, item in properties.items()
        }
    elif "additionalProperties" in node:
        made["additionalProperties"] = node["additionalProperties"]
    return made


def _argument(name: str, schema: dict[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    if name == "categories":
        schema["items"] = {"type": "string"}  # the categories are named where memories are stored
    return {**schema, "description": words[name]} if name in words else schema


def _bare(node: Any) -> Any:  # noqa: ANN401  # a JSON value
    if isinstance(node, list):
        return [_bare(item) for item in node]
    if not isinstance(node, dict):
        return node
    bare: dict[str, Any] = {}
    for key, value in node.items():
        if key in ("properties", "$defs"):
            bare[key] = {name: _bare(item) for name, item in value.items()}
        elif key not in ("description", "required", "examples", "enum"):
            bare[key] = _bare(value)
    return bare
