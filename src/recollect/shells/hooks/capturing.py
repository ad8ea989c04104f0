"""The background process of a capture: read what is new in the transcript, and store what lasts."""

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
from recollect.usecases.agents.capture import Captured
from recollect.usecases.agents.capture import capture as captured
from recollect.wiring import open_service
from recollect.wiring.hooks import extract_statements, open_hook_files, open_hook_log
from recollect.wiring.project import current_project

# Of a transcript read for the first time, only the end: the rest was said long ago.
MAX_READ: Final = 2_000_000


def keep(event: Event, environ: Mapping[str, str]) -> None:
    """Capture one exchange, or all since the last one read; logs the outcome."""
    began = time.monotonic()
    settings = load()
    try:
        with open_hook_files(environ).lock_captures():
            outcome = _capture(event, environ, settings)
    except RecollectError as error:
        outcome = f"failed: {type(error).__name__}"
    except Exception as error:  # noqa: BLE001  # nothing else would report it; its text may quote
        outcome = f"failed: {type(error).__name__}"
    ms = (time.monotonic() - began) * 1000
    open_hook_log(environ).write("capture", f"work {outcome}", ms)


def _capture(event: Event, environ: Mapping[str, str], settings: Settings) -> str:
    files = open_hook_files(environ)
    session = files.session(event.session_key)
    lines, read = _unread(event.transcript, session.state().read)
    said = own_words(lines)
    count = files.daily_count(datetime.now(UTC).date())
    allowance = max(settings.capture_daily - count.used(), 0)
    project = current_project(event.folder, environ)
    handled = files.handled_statements()
    extracted, note = asyncio.run(_extract(said, settings))
    new = [one for one in extracted if not one.said_at or not handled.has(one.content, one.said_at)]
    found = asyncio.run(_store(new, settings, project, event.session, allowance))
    handled.add((one.content, one.said_at) for one in new if one.said_at)
    count.add(len(found.ids))
    session.note_captured(found.ids, read)
    removed = f" removed={found.removed}" if found.removed else ""
    over = f" over_cap={found.over}" if found.over else ""
    return (
        f"stored={len(found.stored)} refined={len(found.refined)} known={len(found.known)}"
        f"{removed}{over}{note}"
    )


async def _extract(said: list[Said], settings: Settings) -> tuple[list[Statement], str]:
    """What rules find, and a model where one is configured; and a note if that failed."""
    found = [statement for text, at in said for statement in statements(text, at)]
    if not said or settings.capture != "llm":
        return found, ""
    try:
        extracted = await extract_statements([text for text, _ in said], settings)
    except RecollectError as error:  # the rules' own findings are still kept
        return found, f" model={type(error).__name__}"
    # Which message a model's statement is from is not known: the first may be long ago.
    began = said[0].at
    return _join_statements(found, [replace(one, said_at=began) for one in extracted]), ""


async def _store(
    found: list[Statement],
    settings: Settings,
    project: str | None,
    session: str | None,
    allowance: int,
) -> Captured:
    if not found:
        return Captured()
    async with open_service(settings, by_meaning=False, actor="hook") as recollect:
        return await captured(
            recollect, found, project=project, session=session, allowance=allowance
        )


def _join_statements(ruled: list[Statement], extracted: list[Statement]) -> list[Statement]:
    return list(
        {statement.content.casefold(): statement for statement in (*extracted, *ruled)}.values()
    )


def _unread(transcript: Path | None, read: int) -> tuple[list[bytes], int]:
    """The complete lines after what was read, and where they end. A file that became shorter is a
    new one.
    """
    if transcript is None:
        return [], read
    with transcript.open("rb") as file:
        size = file.seek(0, 2)
        begin = read if read <= size else 0
        begin = max(begin, size - MAX_READ)
        file.seek(begin)
        data = file.read(MAX_READ)
    whole = data.rfind(b"\n") + 1
    return data[:whole].splitlines(), begin + whole
