"""Pydantic's errors in our own words: the field, what is wrong with it, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from recollect.core.admin.value_kinds import wrong_kind
from recollect.core.errors import InvalidInput

_OURS: Final = "Value error, "


def refusal(mistake: Mapping[str, Any], path: Sequence[object], *, see: str = "") -> InvalidInput:
    """Translate one of pydantic's errors. `path` leads to the value; `see` says where valid input
    is described. The value itself is left out: it may be a secret.
    """
    # Pydantic also names its own steps, such as `[key]` or `function-before[…]`.
    steps = [str(step) for step in path if "[" not in str(step)]
    names = [step for step in steps if not step.isdecimal()]
    see = f" {see}" if see else ""
    field, name = ".".join(steps), names[-1] if names else ""
    kind = mistake["type"]
    if kind == "missing":
        return InvalidInput(f"{field} is missing", field=field, remedy=f"Add it.{see}")
    if kind == "extra_forbidden":
        return InvalidInput(f"unknown field {field[:60]!r}", field=field, remedy=f"Remove it.{see}")
    if kind == "literal_error":
        expected = str(mistake.get("ctx", {}).get("expected", "")).replace("'", "")
        return InvalidInput(
            f"{field} has an invalid value",
            field=field,
            remedy=f"Choose one of: {expected}." if expected else f"Use a valid value.{see}",
        )
    # For an entry, the message describes the whole list.
    refused = wrong_kind(".".join(steps[: steps.index(name) + 1]) if name else field, name)
    # Messages of our own validators are already in our words.
    said = f"{field} {mistake['msg'].removeprefix(_OURS)}" if kind == "value_error" else refused
    return InvalidInput(str(said), field=field, remedy=f"{refused.remedy}{see}")
