"""What every prompt would wait for must not be imported by a hook that recalls."""

from __future__ import annotations

import subprocess
import sys

SLOW = ("asyncio", "pydantic", "httpx", "rich", "numpy", "logging", "http.client")
CODE = """
import sys
import recollect.main, recollect.shells.hooks.run, recollect.shells.hooks.events
import recollect.shells.hooks.recall
import recollect.adapters.sqlite.fast_recall
print(" ".join(name for name in sys.argv[1:] if name in sys.modules))
"""


def test_a_recall_on_the_local_store_imports_nothing_slow() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, *SLOW], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_a_hook_that_a_session_answers_imports_next_to_nothing() -> None:
    """Also before the time limit starts."""
    code = (
        "import sys, recollect.main, recollect.shells.hooks.run\n"
        "import recollect.adapters.resident.client\n"
        "print(*{'contextlib', 'dataclasses', 'enum', 'json', 'pathlib', 're', 'typing'}"
        " & {*sys.modules})"
    )
    # Isolated: what is installed beside it may import at the start of every process.
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []
