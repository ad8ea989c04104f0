"""What people said in an agent's transcript: one JSON object per line, as Claude Code writes it.

Only a person's own words count. Tool results, the agent's answers, summaries, commands and hook
output are also recorded as messages, and must not become memories.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, NamedTuple

from recollect.core.agents.injection import remove_injections

# What the agent itself adds to a person's message. Every repetition is bounded: an unclosed tag
# must not be scanned again from each start.
_ADDED: Final = re.compile(
    r"<(?P<tag>system-reminder|(?:local-)?command-[a-z-]{1,40}|user-prompt-submit-hook|"
    r"session-start-hook|bash-(?:input|stdout|stderr)|ide_[a-z_]{1,40}|task-notification)"
    r"\b[^>]{0,400}>.*?(?:</(?P=tag)>|\Z)",
    re.DOTALL | re.IGNORECASE,
)


class Said(NamedTuple):
    """A message, and when it was typed, if the transcript says so."""

    text: str
    at: datetime | None


def own_words(lines: Iterable[bytes]) -> list[Said]:
    """Return the messages that a person typed, in order; unreadable lines are skipped."""
    found: list[Said] = []
    for line in lines:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if text := typed_text(entry):
            found.append(Said(text, _moment(entry.get("timestamp"))))
    return found


def typed_text(entry: Any) -> str:  # noqa: ANN401  # JSON
    """Return what a person typed; empty for any other entry."""
    if not isinstance(entry, dict) or entry.get("type", "user") != "user":
        return ""
    if _is_aside(entry):
        return ""
    message = entry.get("message", entry)
    if not isinstance(message, dict) or message.get("role", "user") != "user":
        return ""
    content = message.get("content")
    if isinstance(content, list):
        if any(isinstance(block, dict) and block.get("type") == "tool_result" for block in content):
            return ""
        content = _texts(content)
    if not isinstance(content, str):
        return ""
    # The indentation of the first line stays: it shows that the line was pasted.
    text = remove_injections(_ADDED.sub("\n", content)).rstrip().lstrip("\r\n")
    return "" if text.lstrip().startswith(("/", "!")) else text


def answer_text(entry: Any) -> str:  # noqa: ANN401  # JSON
    """Return what the agent said to the person; empty for any other entry."""
    if not isinstance(entry, dict) or entry.get("type") != "assistant" or _is_aside(entry):
        return ""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        content = _texts(content)
    return remove_injections(content).strip() if isinstance(content, str) else ""


def _moment(stamp: object) -> datetime | None:
    """Parse a moment; None without a time zone, since it is compared with others."""
    if not isinstance(stamp, str):
        return None
    try:
        at = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return at if at.tzinfo is not None else None


def _is_aside(entry: dict[str, Any]) -> bool:
    """Whether it is not part of the conversation with the person."""
    marks = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage")
    return any(entry.get(mark) for mark in marks)


def _texts(blocks: list[Any]) -> str:
    return "\n".join(
        block["text"]
        for block in blocks
        if isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    )
