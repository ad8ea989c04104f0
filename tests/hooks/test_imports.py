"""What every prompt would wait for must not be imported by a hook that recalls."""

from __future__ import annotations

import subprocess
import sys

SLOW = ("asyncio", "pydantic", "httpx", "typer", "rich", "numpy", "logging", "http.client")
CODE = """
import sys
import recollect.main, recollect.hooks.run, recollect.hooks.events, recollect.hooks.recall
import recollect.adapters.quick_sqlite
print(" ".join(name for name in sys.argv[1:] if name in sys.modules))
"""


def test_a_recall_on_the_local_store_imports_nothing_slow() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, *SLOW], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_the_wall_stands_before_anything_else_is_imported() -> None:
    code = "import sys\nimport recollect.hooks.run\nprint('dataclasses' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
