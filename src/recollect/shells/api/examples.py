"""Example answers for the documentation, by name in `examples.json`. There and in the responses of
routes, "$name" refers to an example, so that none is read before the document is requested.
"""

from __future__ import annotations

import json
from typing import Any, Final

from recollect.resources import read_text


def of(name: str, description: str) -> dict[str, Any]:
    """Return a response that shows this example."""
    return {
        "description": description,
        "content": {"application/json": {"example": f"${name}"}},
    }


LINKS: Final = {
    operation: {"operationId": operation, "parameters": {"reference": "$response.body#/id"}}
    for operation in ("get_memory", "update_memory", "forget_memory")
}


def fill_in(document: dict[str, Any]) -> None:
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
