"""The whole suite on a Citus cluster: `tools/citus.py run make test`, or any other test command.

RECOLLECT_TEST_CITUS_URL names the nodes, the coordinator first, for a superuser whom they let in.
Every database of a test is then one of the cluster, distributed and empty. Citus is not available
everywhere, so without the variable tests run on one Postgres.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.conftest import TEMPLATE, Cluster, lock_exclusively
from tests.waiting import wait_until

from recollect.adapters.postgres.distribute import distribute
from recollect.adapters.postgres.embedded.locations import ROLE
from recollect.adapters.postgres.migrate import migrate
from recollect.core.admin.timeouts import Timeouts

VARIABLE: Final = "RECOLLECT_TEST_CITUS_URL"
UNDISTRIBUTED: Final = "recollect_undistributed"
"""The template of databases that know the nodes and hold tables that are not distributed."""
SHARDS: Final = 6  # two a node, so that owners share some
# On each node, its own shards and copies: no triggers, no foreign keys.
_EMPTY_SHARDS: Final = """
set citus.override_table_visibility = off;
set citus.enable_manual_changes_to_shards = on;
do $$
declare
    name text;
    is_filled boolean;
begin
    set local session_replication_role = replica;
    for name in
        select c.relname from pg_class c
        where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
            and c.relname <> 'schema_revisions'
            and c.oid not in (select logicalrelid from pg_dist_partition)
    loop
        execute format('select exists (select from %I)', name) into is_filled;
        if is_filled then
            execute format('delete from %I', name);
        end if;
    end loop;
end
$$
"""
_INDEXES: Final = "select indexname from pg_indexes where indexname like 'embeddings_hnsw_%'"
_SEAL: Final = "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s"


@dataclass(frozen=True)
class CitusCluster(Cluster):
    nodes: tuple[str, ...] = ()

    def execute(self, statement: sql.Composed) -> None:
        for node in self.nodes:
            with psycopg.connect(node, autocommit=True) as connection:
                connection.execute(statement)

    def execute_in(self, url: str, statement: str) -> None:
        name = str(conninfo_to_dict(url)["dbname"])
        for node in self.nodes:
            with psycopg.connect(node, dbname=name, autocommit=True) as connection:
                connection.execute(statement.encode())

    def empty(self, url: str) -> None:
        name = str(conninfo_to_dict(url)["dbname"])
        for node in self.nodes:
            with psycopg.connect(node, dbname=name, autocommit=True) as connection:
                connection.execute(_EMPTY_SHARDS)
        with psycopg.connect(self.admin_url, dbname=name, autocommit=True) as coordinator:
            for (index,) in coordinator.execute(_INDEXES).fetchall():
                coordinator.execute(sql.SQL("drop index {}").format(sql.Identifier(index)))

    @contextmanager
    def lose(self, number: int) -> Iterator[str]:
        """Kill a node, return its host and port, and start it again afterwards."""
        where = conninfo_to_dict(self.nodes[number])
        with psycopg.connect(self.nodes[number]) as connection:
            found = connection.execute("select pg_read_file('postmaster.pid')").fetchone()
        pid, data = str(found and found[0]).splitlines()[:2]
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode().rstrip("\0").split("\0")
        owner = Path(data).stat().st_uid
        os.kill(int(pid), signal.SIGQUIT)
        wait_until(lambda: not _answers(self.nodes[number]))
        try:
            yield f"{where['host']}:{where['port']}"
        finally:
            environment = {"PATH": os.defpath, "HOME": str(Path(data).parent)}
            with Path(data, "log").open("wb") as log:
                subprocess.run(
                    ["setsid", "--fork", *command],
                    check=True,
                    stderr=log,
                    env=environment,
                    user=owner,
                    cwd=data,
                )
            wait_until(lambda: _answers(self.nodes[number]))


def open_citus(run_folder: Path, worker: str) -> CitusCluster | None:
    """Return the cluster that the environment names, if it names one."""
    nodes = tuple(os.environ.get(VARIABLE, "").split())
    if not nodes:
        return None
    url = make_conninfo(nodes[0], user=ROLE)
    cluster = CitusCluster(url, nodes[0], worker, nodes)
    with lock_exclusively(run_folder / "template.lock"):
        if not _exists(nodes[0], TEMPLATE):
            _make_templates(cluster)
    return cluster


def require_citus(cluster: Cluster) -> CitusCluster:
    if not isinstance(cluster, CitusCluster):
        pytest.skip("there is no Citus cluster: run `tools/citus.py run` with the test command")
    return cluster


def _answers(node: str) -> bool:
    try:
        psycopg.connect(node, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def _exists(node: str, database: str) -> bool:
    with psycopg.connect(node) as connection:
        found = connection.execute("select from pg_database where datname = %s", (database,))
        return found.fetchone() is not None


def _make_templates(cluster: CitusCluster) -> None:
    role, template = sql.Identifier(ROLE), sql.Identifier(TEMPLATE)
    undistributed = sql.Identifier(UNDISTRIBUTED)
    cluster.execute(sql.SQL("create role {} login").format(role))
    cluster.execute(sql.SQL("create database {} owner {}").format(undistributed, role))
    url = make_conninfo(cluster.url, dbname=UNDISTRIBUTED)
    cluster.execute_in(url, "create extension citus; create extension vector")
    first, *others = (conninfo_to_dict(node) for node in cluster.nodes)
    with psycopg.connect(cluster.nodes[0], dbname=UNDISTRIBUTED, autocommit=True) as coordinator:
        place = (first["host"], int(first["port"] or 5432))
        coordinator.execute("select citus_set_coordinator_host(%s, %s)", place)
        for node in others:
            added = (node["host"], int(node["port"] or 5432))
            coordinator.execute("select citus_add_node(%s, %s)", added)
        coordinator.execute(
            "select citus_set_node_property(%s, %s, 'shouldhaveshards', true)", place
        )
    migrate(url)
    _seal(cluster, UNDISTRIBUTED)
    copy = sql.SQL("create database {} template {} owner {}")
    cluster.execute(copy.format(template, undistributed, role))
    distribute(
        make_conninfo(cluster.url, dbname=TEMPLATE),
        Timeouts(),
        shards=SHARDS,
        report=lambda _text, _share: None,
    )
    _seal(cluster, TEMPLATE)


def _seal(cluster: CitusCluster, database: str) -> None:
    """Let nobody connect any more, not even the maintenance of Citus: else it cannot be copied."""
    cluster.execute(
        sql.SQL("alter database {} allow_connections false").format(sql.Identifier(database))
    )
    for node in cluster.nodes:
        with psycopg.connect(node, autocommit=True) as connection:
            connection.execute(_SEAL, (database,))
