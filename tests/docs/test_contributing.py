"""Rules of CONTRIBUTING.md that no linter checks."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parents[1]

# Who starts an event loop, and why an `async def` test would not do.
OWN_LOOP: Final = {
    "clocks.py": "the loop's clock is the test's own",
    "e2e/new_field.py": "a process of its own",
    "faults/full_disk.py": "a process of its own",
    "faults/test_sqlite_full.py": "a store for all tests of the file",
    "loopback.py": "a server in a thread",
    "property/conftest.py": "one loop for all examples of a Hypothesis test",
    "serving.py": "a server in a thread",
    "sync/test_state_machine.py": "the rules of a Hypothesis state machine are sync functions",
    "sync/children.py": "a process of its own",
}


def starts_a_loop(path: Path) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in {("asyncio", "run"), ("asyncio", "Runner")}
        for node in ast.walk(ast.parse(path.read_text()))
    )


def test_only_listed_files_start_an_event_loop() -> None:
    """Scripts that a test runs in a process of its own are strings here, and not looked at."""
    found = {
        path.relative_to(TESTS).as_posix() for path in TESTS.rglob("*.py") if starts_a_loop(path)
    }
    assert found == OWN_LOOP.keys()
