"""Make schemas and answers as short as possible, since a model reads all of them.

Definitions are read in every conversation, answers in most. Limits that `core` checks anyway,
defaults and repetitions are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

# Keys that `core` checks with its own messages, that repeat a name, or that are the default.
_OMITTED_KEYS: Final = {
    *("title", "default", "pattern", "minLength", "maxLength", "maxItems", "propertyNames"),
}
# What a recall without `explain` leaves out, since only operators need it.
_OPERATOR_FIELDS: Final = ("fusion", "legs", "took_ms")


def input_schema(
    schema: Mapping[str, Any],
    words: Mapping[str, str],
    of_a_scope: Mapping[str, str],
    unlisted: Collection[str] = (),
) -> dict[str, Any]:
    """Return the schema of a tool's arguments, each with its description if it has one."""
    lean = {key: value for key, value in _shorten(schema).items() if key != "description"}
    listed = _remove(_inline(lean, lean.pop("$defs", {})), unlisted)
    return _describe(listed, words, of_a_scope) | {"additionalProperties": False}


def _remove(schema: Mapping[str, Any], unlisted: Collection[str]) -> dict[str, Any]:
    """Remove these properties from the schema, including those of nested objects."""
    properties = {
        name: _remove(item, unlisted) if "properties" in item else item
        for name, item in schema["properties"].items()
        if name not in unlisted
    }
    return {**schema, "properties": properties}


def output_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an answer. Nothing is required, since empty values are left out."""
    bare: dict[str, Any] = _strip(_shorten(schema))
    return bare


def answer(values: Mapping[str, Any], *, explained: bool = True) -> dict[str, Any]:
    """Return the answer without absent values and, for memories, without defaults."""
    left_out = () if explained else _OPERATOR_FIELDS
    return {
        key: _compact(value)
        for key, value in _compact_memory(values).items()
        if value is not None and key not in left_out
    }


def _compact(value: object) -> object:
    if isinstance(value, list):
        return [_compact(item) for item in value]
    if isinstance(value, dict):
        items = _compact_memory(_compact_hit(value)).items()
        return {key: _compact(item) for key, item in items if item is not None and item != []}
    return value


def _compact_hit(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave out a long text of which the matched passage is shown; `memory_get` returns it."""
    if values.get("passage") is None or "memory" not in values:
        return values
    memory = {key: value for key, value in values["memory"].items() if key != "content"}
    return {**values, "memory": memory}


def _compact_memory(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave out the fields of a memory that a model does not need: its owner is the caller, most
    fields are empty, and who wrote it is for people.
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


def _shorten(node: Any) -> Any:  # noqa: ANN401  # a JSON value
    if isinstance(node, list):
        return [_shorten(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    lean: dict[str, Any] = {}
    for key, value in node.items():
        if key in ("properties", "$defs"):
            lean[key] = {name: _shorten(item) for name, item in value.items()}
        elif key not in _OMITTED_KEYS and (key, value) != ("format", "uuid"):
            lean[key] = _shorten(value)
    either = lean.get("anyOf")
    if isinstance(either, list) and {"type": "null"} in either:  # it is optional instead
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
    described = {key: value for key, value in node.items() if key != "additionalProperties"}
    if isinstance(items := node.get("items"), dict):
        described["items"] = _describe(items, words, of_a_scope)
        described["items"].pop("description", None)
    if isinstance(properties := node.get("properties"), dict):
        descriptions = {**words, **of_a_scope} if "sessions" in properties else words
        described["properties"] = {
            name: _describe_argument(name, _describe(item, words, of_a_scope), descriptions)
            for name, item in properties.items()
        }
    elif "additionalProperties" in node:
        described["additionalProperties"] = node["additionalProperties"]
    return described


def _describe_argument(
    name: str, schema: dict[str, Any], words: Mapping[str, str]
) -> dict[str, Any]:
    if name == "categories":
        schema["items"] = {"type": "string"}  # `memory_store` lists the categories
    return {**schema, "description": words[name]} if name in words else schema


def _strip(node: Any) -> Any:  # noqa: ANN401  # a JSON value
    if isinstance(node, list):
        return [_strip(item) for item in node]
    if not isinstance(node, dict):
        return node
    bare: dict[str, Any] = {}
    for key, value in node.items():
        if key in ("properties", "$defs"):
            bare[key] = {name: _strip(item) for name, item in value.items()}
        elif key not in ("description", "required", "examples", "enum"):
            bare[key] = _strip(value)
    return bare
