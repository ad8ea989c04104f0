"""The event that an agent sends to a hook, and the answer: one JSON object each.

The names are Claude Code's. Missing, unknown or malformed values are ignored, so that agents that
send less, or versions that send more, still work.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from recollect.shells.hooks.stdin import MAX_EVENT_BYTES


class BadEvent(ValueError):
    """Stdin does not hold a JSON object."""


class Event(NamedTuple):
    """An event as hooks need it. Not every agent names its session."""

    name: str
    session: str | None
    prompt: str
    folder: Path
    source: str
    transcript: Path | None

    @property
    def session_key(self) -> str | None:
        """The session's name, else its transcript; None if there is neither."""
        return self.session or (None if self.transcript is None else str(self.transcript))


def parse_event(data: bytes, working_folder: str | None = None) -> Event:
    """Parse an event. Its paths are relative to `working_folder`, by default this process's."""
    if len(data) > MAX_EVENT_BYTES:
        raise BadEvent("the event is too long")
    try:
        values: Any = json.loads(data.decode("utf-8-sig", "replace") or "{}")
    except (ValueError, RecursionError) as error:
        raise BadEvent("the event is not JSON") from error
    if not isinstance(values, dict):
        raise BadEvent("the event is not a JSON object")

    def text(*names: str) -> str:
        for name in names:
            if isinstance(value := values.get(name), str) and value:
                return value
        return ""

    def path(text: str) -> Path:
        found = Path(text)
        return found if found.is_absolute() else Path(working_folder or Path.cwd()) / found

    transcript = text("transcript_path")
    return Event(
        name=text("hook_event_name"),
        session=text("session_id") or None,
        prompt=text("prompt", "user_prompt"),
        folder=path(text("cwd")),
        source=text("source", "trigger"),
        transcript=path(os.path.expanduser(transcript)) if transcript else None,  # noqa: PTH111  # any text may come
    )


def render(event: str, context: str, *, as_text: bool) -> str:
    """Return the hook's answer. Without a context it is empty, which every agent ignores."""
    if not context:
        return ""
    if as_text:
        return context + "\n"
    output = {"hookEventName": event, "additionalContext": context}
    return json.dumps({"hookSpecificOutput": output}) + "\n"
