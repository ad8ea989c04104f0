"""What every prompt would wait for must not be imported by a hook that recalls."""

from __future__ import annotations

import subprocess
import sys

SLOW = ("asyncio", "pydantic", "httpx", "typer", "rich", "numpy", "logging", "http.client")
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


def test_the_time_limit_starts_before_other_imports() -> None:
    code = (
        "import sys, recollect.main, recollect.shells.hooks.run\n"
        "print(*{'dataclasses', 'typing'} & {*sys.modules})"
    )
    # Isolated: what is installed beside it may import at the start of every process.
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []
