"""The commands on the concept graph: on a database, on a server, and where there is none."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from tests.serving import running
from tests.shells.cli.commands import Cli, client_of

from recollect.adapters.postgres.embedded import locations as places
from recollect.adapters.postgres.embedded.account import Account

TEXTS = ("Anna Berg works at Initech", "Initech uses Kubernetes & <Helm>")


@pytest.fixture
def admin(database_url: str, tmp_path: Path) -> Cli:
    settings = {"RECOLLECT_DATABASE_URL": database_url, "RECOLLECT_EMBEDDER": "none"}
    return Cli(tmp_path / "home", settings)


@pytest.fixture
def stored(database_url: str, tmp_path: Path) -> list[str]:
    """Return the ids of memories in the database that no worker has read yet."""
    with (
        running(database_url, tmp_path) as server,
        server.client(server.new_key("me")) as mine,
    ):
        return [mine.post("memories", json={"content": text}).json()["id"] for text in TEXTS]


def test_graph_build_show_path_merge_and_split(
    admin: Cli, stored: list[str], database_url: str, tmp_path: Path
) -> None:
    built = admin.json("graph", "build")
    assert (built["read"], built["failed"]) == (2, 0)
    assert admin.json("graph", "build")["read"] == 0
    assert admin.json("graph", "build", "--again")["read"] == 2
    assert admin.json("graph", "stats") == admin.json("graph")
    shown = admin.json("graph", "show", "initech")
    assert len(shown["relationships"]) == 2
    path = admin.json("graph", "path", "Anna Berg", "Kubernetes")
    assert [step["evidence"] for step in path["steps"]] == [[stored[0]], [stored[1]]]
    text = admin("graph", "path", "Anna Berg", "Kubernetes").stdout
    assert "works at" in text
    assert stored[1][-8:] in text
    assert "Anna Berg" in admin("graph", "show", "Initech").stdout
    assert "relationships" in admin("graph", "stats").stdout
    assert "also called" in admin("graph", "merge", "Initech", "Anna Berg").stdout
    assert admin.json("graph", "split", "Initech", "Anna Berg")["name"] == "Anna Berg"
    with running(database_url, tmp_path) as server:
        client = client_of(server, tmp_path / "other", server.new_key("me"))
        assert client.json("graph", "show", "initech") == admin.json("graph", "show", "initech")
        asked = ("graph", "path", "Anna Berg", "Kubernetes")
        assert client.json(*asked) == admin.json(*asked)
        assert client.json("graph", "stats") == admin.json("graph", "stats")
        assert client.json("graph", "merge", "Initech", "Anna Berg")["aliases"] == ["Anna Berg"]
        assert client.error("graph", "show", "Nobody")[0] == 3
        code, error = client.error("graph", "build")
        assert (code, error["field"]) == (2, "RECOLLECT_API_URL")


def test_facts_are_imported_and_bad_lines_are_named(
    admin: Cli, stored: list[str], tmp_path: Path
) -> None:
    file, ids = tmp_path / "facts.jsonl", tmp_path / "ids.jsonl"
    triples = [["Anna Berg", "leads", "Billing"]]
    line = {"doc": "d1", "triples": triples}
    file.write_text(json.dumps(line) + "\n")
    ids.write_text(json.dumps({"doc": "d1", "memory": stored[0]}) + "\n")
    options = ("graph", "import", str(file), "--ids", str(ids))
    tried = admin.json(*options, "--dry-run")
    assert (tried["memories"], tried["facts"], tried["dry_run"]) == (1, 1, True)
    assert admin.error("graph", "show", "Billing")[0] == 3
    assert admin.json(*options)["errors"] == []
    assert admin.json("graph", "show", "Billing")["relationships"][0]["evidence"] == [stored[0]]
    triples.append(["Billing", "is", "the billing"])
    file.write_text(json.dumps(line) + "\n")
    result = admin(*options, "--json")
    assert result.exit_code == 2
    report = json.loads(result.stdout)
    assert (report["facts"], report["left_out"], report["errors"][0]["line"]) == (1, 1, 1)
    assert "1 fact (1 left out)" in admin(*options).stdout
    file.write_text("nonsense\n")
    result = admin(*options)
    assert result.exit_code == 2
    assert "line 1: it is not a JSON object" in result.stderr
    for blank in ("", " "):  # an unset variable means no owner, not the default one
        code, error = admin.error(*options, "--owner", blank)
        assert (code, error["field"]) == (2, "owner")
    assert admin.error("graph", "import", str(tmp_path / "none"))[0] == 2
    assert admin.error("graph", "import", str(file), "--ids", str(file))[0] == 2


@dataclass(frozen=True)
class OtherAccount(Account):
    """An account that may enter only this folder and what is below it."""

    enters: Path

    def can_enter(self, folder: Path) -> bool:
        return folder.is_relative_to(self.enters)


@pytest.mark.parametrize("near", [True, False])
def test_an_embedded_postgres_of_this_home_is_a_server_wherever_it_lies(
    tmp_path: Path, *, near: bool
) -> None:
    home, system = tmp_path / "home", tmp_path / "system"
    home.mkdir()
    assert not places.has_cluster(home, system=system)
    enters = tmp_path if near else system
    account = OtherAccount("other", os.getuid(), os.getgid(), is_switched=True, enters=enters)
    folder = places.postgres_folder(home, account, system)
    assert (home in folder.parents) is near
    assert places.has_cluster(home, system=system)
    assert not places.has_cluster(tmp_path / "other", system=system)
    assert not places.has_cluster(home, with_data=True, system=system)
    (folder / "data").mkdir()
    assert places.has_cluster(home, with_data=True, system=system)


def test_what_is_switched_off_is_not_read(admin: Cli, stored: list[str], database_url: str) -> None:
    off = Cli(admin.home, {**admin.settings, "RECOLLECT_GRAPH": "off"})
    code, error = off.error("graph", "build")
    assert (code, error["field"]) == (2, "RECOLLECT_GRAPH")
    llm = Cli(admin.home, {**admin.settings, "RECOLLECT_GRAPH": "llm"})
    code, error = llm.error("graph", "build")
    assert (code, error["field"]) == (2, "RECOLLECT_LLM_URL")
    with psycopg.connect(database_url) as connection:
        assert connection.execute("select count(*) from concepts").fetchone() == (0,)
