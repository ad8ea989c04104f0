"""The hooks around a session: `brief` when it starts, `capture` when an answer ends, `compact`
before its context is compacted.

Capturing may take a while, and the agent must not wait for it: the hook returns at once, and a
separate process does the work. There is only one at a time; it ends by itself and holds none of the
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

# The longest that a background process may run.
WORK_SECONDS: Final = 120
# After these the agent's context is empty except for what is printed now.
_EMPTIED: Final = ("startup", "clear", "compact")
_RESTORED: Final = 30
# Time that a brief reserves for itself, in seconds, when it waits for a capture to end.
_FOR_BRIEFING: Final = 0.5
_LOOKING: Final = 0.02


def brief(event: Event, environ: Mapping[str, str], watchdog: Watchdog, *, as_text: bool) -> str:
    """Print the project's memories before the first prompt."""
    import asyncio

    found = asyncio.run(make_brief(event, environ, watchdog.until - _FOR_BRIEFING))
    memories = found.memories
    told = block(found.sentence, memories)
    text = render(event.name or "SessionStart", told, as_text=as_text)
    files = open_hook_files(environ)
    outcome = f"injected={len(memories)} source={event.source[:20] or 'unsaid'}"
    watchdog.answer(text, outcome)
    session = files.session(event.session_key)
    if event.source in _EMPTIED:
        session.note_emptied()
    if memories:
        session.note_injected(tuple(memory.id for memory in memories))
    files.forget_old_sessions()
    return outcome


async def make_brief(event: Event, environ: Mapping[str, str], until: float) -> Brief:
    """What to print at the start. After a compaction, wait for running captures until the moment
    `until` of the monotonic clock.
    """
    from asyncio import sleep

    from recollect.core.recall.successors import current
    from recollect.settings import load
    from recollect.usecases.agents.brief import brief as briefing
    from recollect.wiring import SystemClock, open_service

    settings = load()
    scope = Scope(project=current_project(event.folder, environ), with_global=True)
    session = open_hook_files(environ).session(event.session_key)
    state = session.state()
    while event.source == "compact" and state.is_at_work and time.monotonic() < until:
        await sleep(_LOOKING)
        state = session.state()
    # After a compaction, first what this session had and may have lost.
    had = state.captured | state.injected | state.lost
    lost = had if event.source == "compact" else frozenset()
    async with open_service(settings, by_meaning=False, actor="hook") as recollect:
        await keep_project(recollect, event.folder, environ)
        brief_now = await briefing(
            recollect, scope, budget_tokens=settings.hook_tokens, now=SystemClock().now()
        )
        if not lost:
            return brief_now
        restored = [
            memory
            for memory in current((await recollect.page(scope, None, MAX_PAGE)).memories)
            if memory.id in lost and not memory.is_sensitive
        ][:_RESTORED]
    known = {memory.id for memory in restored}
    others = [memory for memory in brief_now.memories if memory.id not in known]
    return replace(brief_now, memories=fitting([*restored, *others], settings.hook_tokens))


def capture(event: Event, environ: Mapping[str, str], *, is_compacting: bool) -> str:
    """Start the work and leave it running."""
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
    """Runs in the background process. It holds no pipe of the agent, which would wait for it."""
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(WORK_SECONDS)
        from recollect.shells.hooks.capturing import keep

        keep(event, environ)
        open_hook_files(environ).session(event.session_key).note_ended(work)
    finally:
        os._exit(0)
