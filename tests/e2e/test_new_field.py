"""A memory is defined once: what a new field needs, and where it then appears.

The edits below are all that a copy of the sources gets: a line in the table of fields, and one in
each place that decides something. The copy then runs both stores, REST, MCP, the Python client,
sync and exports.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from tests.e2e.new_field import NEW, OLD
from tests.real_parts import CHROMIUM
from tests.strategies import new_id
from tests.sync.clients import OWNER

from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.memory.memory import Memory

pytestmark = pytest.mark.anyio

ROOT: Final = Path(__file__).parents[2]
MEMORY: Final = "core/memory/memory.py"
TABLES: Final = "adapters/sqlite/schema/tables.py"
NAMES: Final = "shells/web/parts/diff.js"
FIELD: Final = "places: tuple[str, ...]"
# Which file, which lines, and what they become.
EDITS: Final = (
    # The field; writers may give it, and change it.
    (MEMORY, "    was_known: bool", f"    {FIELD} = ()\n    was_known: bool"),
    (MEMORY, "    said_at: datetime", f"    {FIELD} = ()\n    said_at: datetime"),
    (MEMORY, "    project: str | None\n", f"    project: str | None\n    {FIELD}\n"),
    # SQLite has it from its next version on.
    (TABLES, "VERSION: Final = 5", "VERSION: Final = 6"),
    (TABLES, '"changed_by")}', '"changed_by"), 6: ("places",)}'),
    # What the page calls it.
    (NAMES, "  tags:", '  places: "Places",\n  tags:'),
)
# What a migration of Postgres also needs: the view and the trigger name their columns.
MIGRATION: Final = """
alter table memories add column places text[] not null default '{}';
alter table memory_versions add column places text[] not null default '{}';
create or replace view own_memories as
select * from memories where owner = current_setting('recollect.owner', true);
"""
FUNCTION: Final = "create function recollect_version()"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of the sources with one field more."""
    copied = tmp_path / "src"
    shutil.copytree(ROOT / "src", copied, ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in EDITS:
        path = copied / "recollect" / name
        text = path.read_text()
        assert text.count(old) == 1, old
        path.write_text(text.replace(old, new))
    migrations = copied / "recollect/adapters/postgres/migrations"
    (migrations / "0004.sql").write_text(f"{MIGRATION}\n{trigger(migrations / '0001.sql')}")
    return copied


def trigger(script: Path) -> str:
    """Return the function that stores versions, with the new column."""
    text = script.read_text()
    function = text[text.index(FUNCTION) :].partition("$$;")[0] + "$$;"
    return (
        function.replace(FUNCTION, FUNCTION.replace("create", "create or replace"))
        .replace("changed_by, search_vector", "changed_by, places, search_vector")
        .replace("old.changed_by, old.search", "old.changed_by, old.places, old.search")
    )


def run(sources: Path, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.e2e.new_field", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(sources), str(ROOT)))},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


async def test_a_field_that_is_added_to_the_table_is_everywhere(
    sources: Path, database_url: str, tmp_path: Path
) -> None:
    async with SqliteStore(tmp_path / "older.db") as store:
        at = datetime.now(UTC)
        await store.add(
            Memory(id=new_id(), owner=OWNER, content="Tea.", created_at=at, updated_at=at)
        )
    found = run(sources, database_url, str(tmp_path), "")
    assert (found["stored"], found["changed"], found["versions"]) == (OLD, NEW, [NEW, OLD])
    assert (found["recalled"], found["recalled as of then"]) == (NEW, OLD)
    assert found["page"] == found["exported"] == found["mcp"] == NEW
    assert found["python"] == [OLD, NEW]
    assert found["sync"] == {
        "pulled": NEW,
        "pushed": OLD,
        "versions": [OLD, NEW],
        "line": OLD,
        "read again": OLD,
    }
    assert found["older"] == []


@pytest.mark.slow
def test_the_page_shows_a_field_that_is_added(
    sources: Path, database_url: str, tmp_path: Path
) -> None:
    found = run(sources, database_url, str(tmp_path), CHROMIUM.path())
    assert "Places\nZermatt, Saas-Fee" in found["shown"]
