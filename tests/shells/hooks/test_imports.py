"""A hook that recalls must not import what every prompt would have to wait for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SLOW = ("asyncio", "pydantic", "httpx", "rich", "numpy", "logging", "http.client")


def test_a_recall_on_the_local_store_imports_nothing_slow(tmp_path: Path) -> None:
    """Covers a whole call that shows a memory, until its process ends."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": f"{tmp_path}",
        "RECOLLECT_HOME": f"{tmp_path}",
        "RECOLLECT_HOOK_BUDGET_MS": "10000",
    }
    command = [sys.executable, "-X", "importtime", "-m", "recollect.main"]
    text = "The build of Skylark runs on host alpha"
    subprocess.run([*command, "remember", text], env=env, capture_output=True, check=True)

    event = {
        "hook_event_name": "UserPromptSubmit",
        "prompt": "Where does the build of Skylark run?",
    }
    done = subprocess.run(
        [*command, "hook", "recall"],
        input=json.dumps({**event, "cwd": f"{tmp_path}", "session_id": "one"}),
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )

    assert text in done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "recollect.adapters.sqlite.fast_recall" in imported
    assert imported & {*SLOW} == set()


def test_a_hook_that_a_session_answers_imports_next_to_nothing() -> None:
    """Even before the time limit starts."""
    code = (
        "import sys, recollect.main, recollect.shells.hooks.run\n"
        "import recollect.adapters.resident.client\n"
        "print(*{'contextlib', 'dataclasses', 'enum', 'json', 'pathlib', 're', 'typing'}"
        " & {*sys.modules})"
    )
    # Isolated: other installed packages may import at the start of every process.
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []
