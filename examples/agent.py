"""Part of `make demo`: what an agent's hook adds to a prompt, and that it adds nothing to an
unrelated one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

console = Console(highlight=False)
RELATED = "Is it fine to write to the staging database on a Friday?"
UNRELATED = "Sort these lines by their length, please."


def show_hook(home: Path, url: str, key: str) -> None:
    """Run `recollect hook recall` on each prompt, as Claude Code does once installed."""
    console.rule("in the agent: what a hook adds to a prompt", align="left")
    for prompt in (UNRELATED, RELATED):
        console.print(Text.assemble("\nprompt ", (prompt, "bold")))
        injected = _hook(prompt, home, url, key)
        console.print(Text(injected or "nothing is injected: no memory is relevant"))


def _hook(prompt: str, home: Path, url: str, key: str) -> str:
    inherited = {name: os.environ[name] for name in os.environ if "RECOLLECT_" not in name}
    named = {"RECOLLECT_HOME": str(home), "RECOLLECT_API_URL": url, "RECOLLECT_API_KEY": key}
    done = subprocess.run(
        [sys.executable, "-m", "recollect.main", "hook", "recall", "--text"],
        input=json.dumps({"session_id": "demo", "prompt": prompt}).encode(),
        env={**inherited, **named, "RECOLLECT_HOOK_BUDGET_MS": "5000"},
        stdout=subprocess.PIPE,
        check=True,
    )
    return done.stdout.decode().strip()
