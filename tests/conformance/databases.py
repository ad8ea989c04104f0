"""One Postgres database for many small tests: emptying it is several times faster than creating
one.

A plain module, so that the property tests can use the same fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from tests.conftest import Cluster

_numbers = count()


@pytest.fixture(scope="session")
def shared_database_url(cluster: Cluster) -> Iterator[str]:
    name = f"emptied_{next(_numbers)}"
    yield cluster.create(name)
    cluster.drop(name)


# Truncating creates new files for every table and index, even for empty ones.
_EMPTY = """
do $$
declare
    name text;
    is_filled boolean;
begin
    set local session_replication_role = replica;  -- no triggers, no foreign keys
    for name in
        select tablename from pg_tables
        where schemaname = 'public' and tablename <> 'schema_revisions'
    loop
        execute format('select exists (select from %I)', name) into is_filled;
        if is_filled then
            execute format('delete from %I', name);
        end if;
    end loop;
    -- Spaces of former tests left indexes.
    for name in select indexname from pg_indexes where indexname like 'embeddings_hnsw_%' loop
        execute format('drop index %I', name);
    end loop;
end
$$
"""


@pytest.fixture
def emptied_database_url(cluster: Cluster, shared_database_url: str) -> str:
    """A migrated database without rows."""
    cluster.execute_in(shared_database_url, _EMPTY)
    return shared_database_url
