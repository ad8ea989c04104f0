"""The commands of the documents run as written, against a real server, and with no variable set
that they do not ask for.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.waiting import SECONDS

from recollect_bench.cli.sync import temporary_server

DOCS = Path(__file__).parents[2] / "docs"
# The default of the settings, below a person's home that is new in every test.
DATA = Path(".local", "share", "recollect")


@dataclass(frozen=True)
class Started:
    person: Path
    url: str
    key: str


@pytest.fixture(scope="module")
def started(open_folder: Path) -> Iterator[Started]:
    """A server on the default home of a person."""
    person = open_folder / "person"
    (person / DATA).parent.mkdir(parents=True)
    for folder in (person, person / ".local", person / ".local" / "share"):
        folder.chmod(0o711)
    with temporary_server(person / DATA) as (url, key):
        yield Started(person, url, key)


def blocks(page: str, *, holding: str, language: str = "") -> list[str]:
    text = (DOCS / page).read_text()
    found = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [block for block in found if holding in block]


def run(script: str, person: Path, folder: Path, **variables: str) -> str:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RECOLLECT_", "XDG_", "PG"))
    }
    path = f"{Path(sys.executable).parent}:{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**environment, "PATH": path, "HOME": str(person), **variables},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_quick_start_of_the_api_runs(started: Started, tmp_path: Path) -> None:
    steps = blocks("api.md", holding="", language="sh")
    assert len(steps) == 9
    output = run(
        "\n".join(f"{step}\necho" for step in steps),
        started.person,
        tmp_path,
        RECOLLECT_API_URL=started.url,
        RECOLLECT_API_KEY=started.key,
    )
    answers = [json.loads(line) for line in output.splitlines() if line.strip()]
    recalled, listed, changed, read, stats, forgotten, problem = answers
    assert [hit["memory"]["content"] for hit in recalled["hits"]] == [
        "The ledger is deployed on Fridays."
    ]
    assert [memory["id"] for memory in listed["memories"]] == [changed["id"]]
    assert (changed["version"], read["content"]) == (2, "The ledger is deployed on Thursdays.")
    assert stats["memories"] == 1
    assert forgotten["id"] == changed["id"]
    assert problem["remedy"]


def test_a_backup_of_the_local_store_needs_no_variable(tmp_path: Path) -> None:
    (step,) = blocks("backup.md", holding="sqlite3 ")
    run("recollect remember 'the vault is audited in May'", tmp_path, tmp_path)
    run(step, tmp_path, tmp_path)
    with sqlite3.connect(tmp_path / "memories-backup.db") as backup:
        rows = backup.execute("SELECT content FROM memories").fetchall()
    backup.close()
    assert rows == [("the vault is audited in May",)]


def test_a_dump_of_the_embedded_postgres_needs_no_variable(started: Started) -> None:
    (step,) = blocks("backup.md", holding="PGPASSFILE")
    output = run(f"{step}\npg_restore --list recollect.dump", started.person, started.person)
    assert "TABLE DATA public memories" in output


def test_a_dump_without_a_database_says_what_to_set(tmp_path: Path) -> None:
    (step,) = blocks("backup.md", holding="RECOLLECT_DATABASE_URL:?")
    with pytest.raises(AssertionError, match="set it to the database"):
        run(step, tmp_path, tmp_path)
