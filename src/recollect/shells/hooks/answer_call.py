"""Answer a hook of another process, in the process that holds the model.

Files are read and texts rendered in threads, so that a slow disk or a long text does not block the
event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from recollect.ports.recall import OwnerRecall
from recollect.settings import load
from recollect.shells.hooks.events import parse_event
from recollect.shells.hooks.recall import Prompt
from recollect.wire.hook_call import HookCall, HookReply


async def answer_call(
    call: HookCall, home: Path, recall: OwnerRecall
) -> tuple[HookReply, Callable[[], None]]:
    """Return the reply, and what to call once it is printed."""
    prompt = await asyncio.to_thread(_read, call, home)
    if prompt.request is None:
        return prompt.reply((), ""), prompt.note_shown
    found = await recall(prompt.settings.owner, prompt.request)
    dense = found.legs.get("dense")
    has_meaning = dense is not None and dense.status == "ran"
    note = "by meaning" if has_meaning else "by words, from the session"
    return await asyncio.to_thread(prompt.reply, found.hits, note), prompt.note_shown


def _read(call: HookCall, home: Path) -> Prompt:
    environ = {**call.environ, "RECOLLECT_HOME": str(home)}
    event = parse_event(call.event, call.folder)
    return Prompt(event, environ, load(environ), as_text=call.as_text)
