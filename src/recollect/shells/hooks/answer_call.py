"""Answer a hook of another process, in the process that holds the model.

The hook waits only so long. On a busy machine recall by meaning may take longer, and then words
answer: they take a fraction of the time, and this process has loaded all that they need.

Files are read and texts rendered in threads, so that a slow disk or a long text does not block the
event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from recollect.ports.recall import OwnerRecall
from recollect.settings import load
from recollect.shells.hooks.events import parse_event
from recollect.shells.hooks.recall import Prompt
from recollect.usecases.tasks import cancel
from recollect.wire.hook_call import HookCall, HookReply

if TYPE_CHECKING:
    from recollect.core.recall.request import LegName, RecallRequest, Recollection

# Of the time until the hook must have its answer: when words are searched as well, and how long
# recall by meaning may take. The rest is for making the block and printing it.
_SHARE_ALONE: Final = 0.4
_SHARE_FOR_RECALL: Final = 0.85
_WORDS: Final[Mapping[LegName, float]] = {"dense": 0.0, "graph": 0.0}


async def answer_call(
    call: HookCall, home: Path, recall: OwnerRecall
) -> tuple[HookReply, Callable[[], None]]:
    """Return the reply, and what to call once it is printed."""
    prompt = await asyncio.to_thread(_read, call, home)
    if prompt.request is None:
        return prompt.reply((), ""), prompt.note_shown
    found = await _recall(recall, prompt.settings.owner, prompt.request, call.until)
    dense = found.legs.get("dense")
    has_meaning = dense is not None and dense.status == "ran"
    note = "by meaning" if has_meaning else "by words, from the session"
    return await asyncio.to_thread(prompt.reply, found.hits, note), prompt.note_shown


async def _recall(
    recall: OwnerRecall, owner: str, request: RecallRequest, until: float
) -> Recollection:
    now = time.monotonic()
    by_meaning = asyncio.create_task(recall(owner, request))
    try:
        await asyncio.wait([by_meaning], timeout=_SHARE_ALONE * (until - now))
        if not by_meaning.done():
            by_words = await recall(owner, replace(request, weights=_WORDS))
            last = now + _SHARE_FOR_RECALL * (until - now)
            await asyncio.wait([by_meaning], timeout=max(last - time.monotonic(), 0.0))
            if not by_meaning.done():
                return by_words
        return by_meaning.result()
    finally:
        cancel(by_meaning)


def _read(call: HookCall, home: Path) -> Prompt:
    environ = {**call.environ, "RECOLLECT_HOME": str(home)}
    event = parse_event(call.event, call.folder)
    return Prompt(event, environ, load(environ), as_text=call.as_text)
