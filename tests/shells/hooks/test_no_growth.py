"""A session's own injections, fed back for fifty rounds, add nothing to the store.

The path is that of the hooks: recall and inject on a real store, write the transcript as the agent
does, read it, apply the rules, and store through the use case. Only the processes around it are
left out; `test_session_hooks.py` has those.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from tests.usecases.agents.injecting import inject

from recollect.core.agents.capture import statements
from recollect.core.agents.injection import RECALL_SENTENCE, block
from recollect.core.agents.transcript import own_words
from recollect.core.memory.memory import EVERYWHERE, Draft
from recollect.settings import load
from recollect.usecases.agents.capture import capture
from recollect.wiring.fast_recall import FastRecall
from recollect.wiring.local import open_service

pytestmark = pytest.mark.anyio

ROUNDS = 50
# Each is phrased so that the rules would capture it from a person.
SEEDS = (
    "Remember that the staging database is read-only on Fridays.",
    "We decided to use Postgres for the audit log of the staging cluster.",
    "Always run the linter before committing to the staging branch.",
    "No, use pnpm instead of npm for the staging frontend.",
)
PROMPT = (
    "Is the staging database read-only on Fridays, do we use Postgres for the audit log, run the"
    " linter before committing, and pnpm instead of npm for the frontend?"
)


def transcript(context: str, number: int) -> list[bytes]:
    """Return an exchange in which both sides quote the injected text in every possible way."""
    lines = context.split("\n")
    entries = [
        ("user", f"{PROMPT}\n<system-reminder>\n{context}\n</system-reminder>"),
        ("assistant", [{"type": "text", "text": f"I was told:\n{context}"}]),
        ("user", f"You said in round {number}:\n{context}\nIs that right?"),
        ("user", "Half of it:\n" + context[: len(context) * 2 // 3]),
        ("user", "Only the entries:\n" + "\n".join(lines[3:-1])),
        # Even in the person's own words, without any mark, it is known already.
        ("user", "\n".join(line.removeprefix("  | ") for line in lines if line.startswith("  | "))),
        ("user", [{"type": "tool_result", "content": context}]),
    ]
    return [
        json.dumps({"type": role, "message": {"role": role, "content": content}}).encode()
        for role, content in entries
    ]


@pytest.mark.parametrize("writer", ["hook", "mcp"])
async def test_fifty_rounds_of_its_own_injections_do_not_grow_the_store(
    tmp_path: Path, writer: str
) -> None:
    """What the person repeats of an agent's memories becomes the person's own, once."""
    find = FastRecall(load({"RECOLLECT_HOME": str(tmp_path)}), time.monotonic() + 1_000_000)
    stored = []
    async with open_service(load(home=tmp_path), actor=writer) as recollect:
        for seed in SEEDS:
            await recollect.remember(Draft(seed))
    async with open_service(load(home=tmp_path), actor="hook") as recollect:
        for number in range(ROUNDS):
            injection = inject(find, PROMPT)
            assert len(injection.memories) >= len(SEEDS)
            context = block(RECALL_SENTENCE, injection.memories)
            messages = own_words(transcript(context, number))
            found = [statement for text, at in messages for statement in statements(text, at)]
            assert found, "the person's own repetition is left to the use case"
            captured = await capture(recollect, found, project=None, session="s", allowance=100)
            stored.append(captured.stored)
        page = await recollect.page(EVERYWHERE, None, 500)
    said = {memory.content for memory in page.memories}
    assert not any(stored[1:])
    if writer == "hook":
        assert not stored[0]
        assert said == set(SEEDS)
    else:
        assert said - set(SEEDS) == {"Use pnpm instead of npm for the staging frontend."}
