"""The hooks around a session: `brief` when it starts, `capture` when an answer ends, `compact`
before its context is compacted.

Capturing may take a while, and the agent must not wait for it: the hook returns at once, and a
background process does the work. Only one runs at a time; it ends by itself and holds none of the
agent's resources.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from recollect.core.agents.injection import block, fitting
from recollect.core.memory.listing import MAX_PAGE
from recollect.core.memory.memory import Scope
from recollect.shells.hooks.events import Event, render
from recollect.shells.hooks.watchdog import Watchdog
from recollect.wiring.hooks import open_hook_files
from recollect.wiring.project import current_project, keep_project

if TYPE_CHECKING:
    from recollect.usecases.agents.brief import Brief

# Time limit of the background process.
_CAPTURE_SECONDS: Final = 120
# Sources of a session start after which the agent's context is empty.
_EMPTYING_SOURCES: Final = ("startup", "clear", "compact")
_MAX_RESTORED: Final = 30
# What a brief reserves of its budget for itself while it waits for a capture to end.
_BRIEF_SECONDS: Final = 0.5
_POLL_SECONDS: Final = 0.02


def brief(event: Event, environ: Mapping[str, str], watchdog: Watchdog, *, as_text: bool) -> str:
    """Print the project's memories before the first prompt."""
    import asyncio

    found = asyncio.run(make_brief(event, environ, watchdog.until - _BRIEF_SECONDS))
    memories = found.memories
    context = block(found.sentence, memories)
    text = render(event.name or "SessionStart", context, as_text=as_text)
    files = open_hook_files(environ)
    outcome = f"injected={len(memories)} source={event.source[:20] or 'unsaid'}"
    watchdog.answer(text, outcome)
    session = files.session(event.session_key)
    if event.source in _EMPTYING_SOURCES:
        session.note_emptied()
    if memories:
        session.note_injected(tuple(memory.id for memory in memories))
    files.forget_old_sessions()
    return outcome


async def make_brief(event: Event, environ: Mapping[str, str], until: float) -> Brief:
    """Return what to print at the start. After a compaction, wait for running captures, at most
    until `until` on the monotonic clock.
    """
    from asyncio import sleep

    from recollect.core.recall.successors import current
    from recollect.settings import load
    from recollect.usecases.agents.brief import brief as build_brief
    from recollect.wiring.context import SystemClock
    from recollect.wiring.local import open_service

    settings = load(environ)
    scope = Scope(project=current_project(event.folder, environ), with_global=True)
    session = open_hook_files(environ).session(event.session_key)
    state = session.state()
    while event.source == "compact" and state.is_at_work and time.monotonic() < until:
        await sleep(_POLL_SECONDS)
        state = session.state()
    # After a compaction, what this session had and may have lost comes first.
    had = state.captured | state.injected | state.lost
    lost = had if event.source == "compact" else frozenset()
    async with open_service(settings, by_meaning=False, actor="hook") as recollect:
        await keep_project(recollect, event.folder, environ)
        brief_now = await build_brief(
            recollect, scope, budget_tokens=settings.hook_tokens, now=SystemClock().now()
        )
        if not lost:
            return brief_now
        restored = [
            memory
            for memory in current((await recollect.page(scope, None, MAX_PAGE)).memories)
            if memory.id in lost and not memory.is_sensitive
        ][:_MAX_RESTORED]
    known = {memory.id for memory in restored}
    others = [memory for memory in brief_now.memories if memory.id not in known]
    return replace(brief_now, memories=fitting([*restored, *others], settings.hook_tokens))


def capture(event: Event, environ: Mapping[str, str], *, is_compacting: bool) -> str:
    """Start the capture in the background and return at once."""
    session = open_hook_files(environ).session(event.session_key)
    if is_compacting:
        session.note_emptied()
    if environ.get("RECOLLECT_CAPTURE", "on") == "off":
        return "off"
    if event.transcript is None:
        return "no transcript"
    work = str(time.time_ns())
    session.note_begun(work)
    if os.fork() == 0:
        _work(event, environ, work)
    return "started"


def _work(event: Event, environ: Mapping[str, str], work: str) -> None:
    """Run the background process. It holds no pipe of the agent, which would wait for it."""
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_CAPTURE_SECONDS)
        from recollect.shells.hooks.capturing import capture_new

        capture_new(event, environ)
        open_hook_files(environ).session(event.session_key).note_ended(work)
    finally:
        os._exit(0)
