"""The background process of a capture: read the new part of a transcript and store what matters."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from recollect.core.agents.capture import Statement, statements
from recollect.core.agents.transcript import Said, own_words
from recollect.core.errors import RecollectError
from recollect.settings import Settings, load
from recollect.shells.hooks.events import Event
from recollect.usecases.agents.capture import Captured, capture
from recollect.wiring.hooks import extract_statements, open_hook_files, open_hook_log
from recollect.wiring.local import open_service
from recollect.wiring.project import current_project

# Only the end of a transcript is read the first time: the rest is old.
_MAX_READ: Final = 2_000_000


def capture_new(event: Event, environ: Mapping[str, str]) -> None:
    """Capture all exchanges since the last one that was read, and log the outcome."""
    began = time.monotonic()
    settings = load(environ)
    try:
        with open_hook_files(environ).lock_captures():
            outcome = _capture(event, environ, settings)
    except RecollectError as error:
        outcome = f"failed: {type(error).__name__}"
    except Exception as error:  # noqa: BLE001  # nothing else would report it; its text may quote a memory
        outcome = f"failed: {type(error).__name__}"
    ms = (time.monotonic() - began) * 1000
    open_hook_log(environ).write("capture", f"work {outcome}", ms)


def _capture(event: Event, environ: Mapping[str, str], settings: Settings) -> str:
    files = open_hook_files(environ)
    session = files.session(event.session_key)
    lines, read = _read_new_lines(event.transcript, session.state().read)
    messages = own_words(lines)
    count = files.daily_count(datetime.now(UTC).date())
    allowance = max(settings.capture_daily - count.used(), 0)
    project = current_project(event.folder, environ)
    handled = files.handled_statements()
    ruled = [statement for text, at in messages for statement in statements(text, at)]
    extracted, note = asyncio.run(_extract(messages, ruled, settings))
    found = Captured()
    # The history tells the user's words from a model's: only the former stand for the user.
    for actor, of in (("hook", ruled), ("model", extracted)):
        new = [one for one in of if not one.said_at or not handled.has(one.content, one.said_at)]
        left = allowance - len(found.ids)
        found += asyncio.run(_store(new, settings, project, event.session, left, actor))
        handled.add((one.content, one.said_at) for one in new if one.said_at)
    count.add(len(found.ids))
    session.note_captured(found.ids, read)
    removed = f" removed={found.removed}" if found.removed else ""
    over = f" over_cap={found.over}" if found.over else ""
    return (
        f"stored={len(found.stored)} refined={len(found.refined)} known={len(found.known)}"
        f"{removed}{over}{note}"
    )


async def _extract(
    messages: list[Said], ruled: list[Statement], settings: Settings
) -> tuple[list[Statement], str]:
    """Return what a language model finds besides what the rules found, if one is configured, and a
    note if it failed.
    """
    if not messages or settings.capture != "llm":
        return [], ""
    try:
        extracted = await extract_statements([text for text, _ in messages], settings)
    except RecollectError as error:  # the rules' findings are still stored
        return [], f" model={type(error).__name__}"
    # It is unknown which message a model's statement is from, so it gets the time of the first.
    began = messages[0].at
    known = {statement.content.casefold() for statement in ruled}
    return [
        replace(statement, said_at=began)
        for statement in extracted
        if statement.content.casefold() not in known
    ], ""


async def _store(
    found: list[Statement],
    settings: Settings,
    project: str | None,
    session: str | None,
    allowance: int,
    actor: str,
) -> Captured:
    if not found:
        return Captured()
    async with open_service(settings, by_meaning=False, actor=actor) as recollect:
        return await capture(
            recollect,
            found,
            project=project,
            session=session,
            allowance=allowance,
            by_user=actor == "hook",
        )


def _read_new_lines(transcript: Path | None, read: int) -> tuple[list[bytes], int]:
    """Return the complete lines after position `read`, and where they end. A file that became
    shorter is treated as a new one.
    """
    if transcript is None:
        return [], read
    with transcript.open("rb") as file:
        size = file.seek(0, 2)
        begin = read if read <= size else 0
        begin = max(begin, size - _MAX_READ)
        file.seek(begin)
        data = file.read(_MAX_READ)
    whole = data.rfind(b"\n") + 1
    return data[:whole].splitlines(), begin + whole
