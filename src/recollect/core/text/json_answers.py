"""The JSON in a language model's answer."""

from __future__ import annotations

import json


def read_json(answer: str) -> object:
    """Parse the answer as JSON, with or without the fence of backticks that models like to put
    around it; None if it is no JSON.
    """
    tidy = answer.strip()
    if tidy.startswith("```"):
        tidy = tidy.partition("\n")[2].rpartition("```")[0]
    try:
        return json.loads(tidy)
    except (ValueError, RecursionError):
        return None
