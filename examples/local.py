"""Part of `make demo` without a server: memories in one SQLite file, found by meaning."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

MEMORIES = (
    "The staging database is read-only on Fridays.",
    "Deployments go out with make release.",
    "Nadia prefers small pull requests.",
)
# The question and its answer share no word.
QUESTION = "how do we ship a new version?"
ANSWER = MEMORIES[1]
console = Console(highlight=False)


def show_local_store(home: Path, models: Path) -> None:
    """Show commands as a person types them, and what they print."""
    home.mkdir()
    console.rule("on this machine alone: one SQLite file, no server", align="left")
    console.print("The embedding model is fetched and built once …")
    _recollect(home, models, "models", "get", "minilm")
    for text in MEMORIES:
        _show(home, models, "remember", text)
    _show(home, models, "recall", QUESTION, "--no-dense")
    found = _show(home, models, "recall", QUESTION, "--explain")
    if ANSWER not in " ".join(found.split()):  # a narrow terminal breaks its lines
        sys.exit(f"{QUESTION!r} did not find {ANSWER!r} by meaning.")
    console.print()


def _show(home: Path, models: Path, *arguments: str) -> str:
    typed = " ".join(f'"{part}"' if " " in part else part for part in arguments)
    console.print(Text.assemble("$ recollect ", (typed, "bold")))
    printed = _recollect(home, models, *arguments)
    console.print(Text(printed.rstrip()))
    return printed


def _recollect(home: Path, models: Path, *arguments: str) -> str:
    inherited = {name: os.environ[name] for name in os.environ if "RECOLLECT_" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "recollect.main", *arguments],
        cwd=home,  # outside any repository, so that the memories belong to no project
        env={
            **inherited,
            "RECOLLECT_HOME": str(home),
            "RECOLLECT_MODELS": str(models),
            "COLUMNS": str(console.width),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout or done.stderr
