"""What `recollect database distribute` reports where it cannot do anything, and how it prepares."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.conftest import Cluster
from tests.privacy.test_row_level_security import admin_url

from recollect.adapters.postgres.distribute import distribute, find_steps, read_row_functions
from recollect.adapters.postgres.distribution import (
    check_usable,
    read_distribution,
    read_tables,
)
from recollect.core.admin.distribution import DEFAULT_SHARDS, Distribution
from recollect.core.admin.timeouts import Timeouts
from recollect.core.errors import StoreUnavailable

_STATE = """
select 'constraint', conname, pg_get_constraintdef(oid) from pg_constraint where contype = 'f'
union all select 'secured', relname::text, relforcerowsecurity::text from pg_class
where relrowsecurity
union all select 'trigger', tgname, tgtype::text from pg_trigger
where not tgisinternal and tgtype & 1 = 1 order by 1, 2
"""


def run(url: str) -> Distribution:
    return distribute(url, Timeouts(), shards=DEFAULT_SHARDS, report=lambda _text, _share: None)


def test_without_the_extension_it_says_what_to_install(database_url: str) -> None:
    with pytest.raises(StoreUnavailable, match="has no Citus") as raised:
        run(database_url)
    assert "create extension citus" in raised.value.remedy


def test_only_the_owner_of_the_tables_may_distribute_them(
    database_url: str, cluster: Cluster
) -> None:
    passer_by = cluster.name("passer_by")
    with psycopg.connect(cluster.admin_url, autocommit=True) as admin:
        admin.execute(f"create role {passer_by} login password 'plain'")
    try:
        url = make_conninfo(database_url, user=passer_by, password="plain")
        with pytest.raises(StoreUnavailable, match="only the owner") as raised:
            run(url)
        assert "Log in as recollect" in raised.value.remedy
    finally:
        with psycopg.connect(cluster.admin_url, autocommit=True) as admin:
            admin.execute(f"drop role {passer_by}")


def test_a_database_without_citus_is_not_distributed(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        assert read_distribution(connection) == Distribution()


def test_the_tables_of_the_server_are_copied_to_every_node(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        tables = dict(read_tables(connection))
    assert [name for name, is_owned in tables.items() if not is_owned] == [
        "curation_budget",
        "erasure_logs",
        "extraction_budget",
        "keys",
        "recalls_kept",
        "settings",
        "settings_audit",
        "spaces",
        "sync_server",
    ]
    assert next(iter(tables)) == "memories", "the others are co-located with it"


def test_what_is_taken_off_is_put_on_again(database_url: str, cluster: Cluster) -> None:
    with psycopg.connect(admin_url(cluster, database_url)) as connection:
        before = connection.execute(_STATE).fetchall()
        connection.execute(read_row_functions())
        steps = [*find_steps(connection, [name for name, _ in read_tables(connection)])]
        for off, _ in steps:
            connection.execute(off)
        assert connection.execute(_STATE).fetchall() == []
        for _, on in steps:
            connection.execute(on)
        after = connection.execute(_STATE).fetchall()
    by_row = [row for row in after if row not in before]
    assert len(by_row) == 8, "those that were called once for a statement"
    assert [row for row in after if row not in by_row] == before


@pytest.mark.parametrize(
    "found",
    [
        Distribution("13.0", 3, 21, 8, is_unfinished=True),
        Distribution("13.0", 3, 20, 8, local=("recalls",)),
    ],
)
def test_no_server_starts_on_half_a_cluster(found: Distribution, database_url: str) -> None:
    with (
        psycopg.connect(database_url) as connection,
        pytest.raises(StoreUnavailable, match="partly distributed") as raised,
    ):
        check_usable(connection, found)
    assert "recollect database distribute" in raised.value.remedy
