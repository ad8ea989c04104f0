"""JSON Schema, as a client would apply it."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it carries no types


def is_sound(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)


def fits(value: object, schema: dict[str, Any] | None) -> None:
    assert schema is not None
    checker = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    checker.validate(value)
