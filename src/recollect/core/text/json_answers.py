"""The JSON in a language model's answer."""

from __future__ import annotations

import json


def read_json(answer: str) -> object:
    """Parse the JSON object in an answer; models like to put a fence or a sentence around it. None
    if there is none.
    """
    start, end = answer.find("{"), answer.rfind("}")
    try:
        return json.loads(answer[start : end + 1])
    except (ValueError, RecursionError):
        return None
