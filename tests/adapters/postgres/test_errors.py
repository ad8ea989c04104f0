"""Errors of the driver become errors that tell a person what to do, and quote no memory."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from recollect.adapters.postgres.access import ADMIN
from recollect.adapters.postgres.errors import (
    NotConnected,
    check_address,
    is_disconnect,
    translate,
    translate_errors,
)
from recollect.adapters.postgres.store import PostgresStore
from recollect.core.errors import (
    Conflict,
    InvalidInput,
    RecollectError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("23505", Conflict),  # unique_violation
        ("25006", StoreReadOnly),  # read_only_sql_transaction
        ("40001", StoreBusy),  # serialization_failure
        ("40P01", StoreBusy),  # deadlock_detected
        ("53100", StoreFull),  # disk_full
        ("53300", StoreBusy),  # too_many_connections
        ("55P03", StoreBusy),  # lock_not_available
        ("57014", StoreBusy),  # query_canceled
        ("57P01", StoreUnavailable),  # admin_shutdown
        ("57P02", StoreUnavailable),  # crash_shutdown
        ("57P03", StoreUnavailable),  # cannot_connect_now
        ("42501", StoreUnavailable),  # insufficient_privilege
        ("42P01", StoreError),  # undefined_table
        ("22021", StoreError),  # character_not_in_repertoire
    ],
)
def test_errors_that_postgres_itself_raises(
    cluster_connection: psycopg.Connection, code: str, expected: type[RecollectError]
) -> None:
    statement = f"do $$ begin raise 'secret text' using errcode = '{code}'; end $$"
    with pytest.raises(RecollectError) as raised, translate_errors():
        cluster_connection.execute(statement)
    assert type(raised.value) is expected
    assert raised.value.remedy
    assert "secret text" not in f"{raised.value} {raised.value.remedy}"


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("08006", "connection to the remote node recollect@10.0.0.3:5432 failed", "10.0.0.3:5432"),
        (
            "XX000",
            "server closed the connection unexpectedly\nwhile executing command on 10.0.0.3:5432",
            "10.0.0.3:5432",
        ),
        ("XX000", "operation is not allowed on this node", "worker of a Citus cluster"),
    ],
)
def test_what_citus_says_of_its_nodes(
    cluster_connection: psycopg.Connection, code: str, text: str, expected: str
) -> None:
    statement = f"do $$ begin raise '{text}' using errcode = '{code}'; end $$"
    with pytest.raises(StoreUnavailable, match=expected), translate_errors():
        cluster_connection.execute(statement)


def test_every_error_class_of_the_driver_is_mapped() -> None:
    classes = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, psycopg.Error)
    ]
    assert len(classes) > 200
    for kind in classes:
        mapped = translate(kind("secret text"))
        assert isinstance(mapped, StoreError | Conflict), kind
        assert "secret text" not in str(mapped)


@pytest.fixture
def cluster_connection(database_url: str) -> Iterator[psycopg.Connection]:
    connection = psycopg.connect(database_url, autocommit=True)
    try:
        yield connection
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"password": "wrong"}, "user name or the password"),
        ({"dbname": "nowhere"}, "does not know the database"),
    ],
)
def test_a_refused_connection_is_not_called_unreachable(
    database_url: str, change: dict[str, str], message: str
) -> None:
    with pytest.raises(StoreUnavailable, match=message), translate_errors():
        psycopg.connect(make_conninfo(database_url, **change)).close()


def test_a_postgres_without_a_connection_left_is_not_called_unreachable(
    emptied_database_url: str,
) -> None:
    name = conninfo_to_dict(emptied_database_url)["dbname"]
    limit = sql.SQL("alter database {} connection limit {}")
    with psycopg.connect(emptied_database_url, autocommit=True) as connection:
        connection.execute(limit.format(sql.Identifier(str(name)), 0))
        try:
            with pytest.raises(StoreBusy, match="no free connections"), translate_errors():
                psycopg.connect(emptied_database_url).close()
        finally:
            connection.execute(limit.format(sql.Identifier(str(name)), -1))


@pytest.mark.parametrize(
    "message",
    [
        "FATAL:  sorry, too many clients already",
        "FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute",
        'FATAL:  too many connections for role "recollect"',
        "FATAL:  no more connections allowed (max_client_conn)",  # PgBouncer
    ],
)
def test_every_refusal_for_lack_of_connections_is_busy(message: str) -> None:
    error = psycopg.OperationalError(f"connection failed: {message}")
    assert type(translate(error)) is StoreBusy


@pytest.mark.anyio
async def test_connections_have_keepalives_unless_the_address_sets_them(
    database_url: str,
) -> None:
    async def parameters(url: str) -> dict[str, str]:
        async with (
            PostgresStore(url, connections=1) as store,
            store.pool.reading(ADMIN) as connection,
        ):
            return connection.connection.info.get_parameters()

    options = await parameters(database_url)
    assert options["keepalives_idle"] == "30"
    assert options["tcp_user_timeout"] == "10000"
    own = await parameters(make_conninfo(database_url, keepalives_idle=7))
    assert own["keepalives_idle"] == "7"


def test_check_address_refuses_what_is_no_database_address() -> None:
    with pytest.raises(InvalidInput, match="not an address") as raised:
        check_address("not a url with hunter2")
    assert "hunter2" not in f"{raised.value} {raised.value.remedy}"


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (errors.AdminShutdown(), True),
        (errors.CrashShutdown(), True),
        (psycopg.OperationalError("server closed the connection unexpectedly"), True),
        (errors.ConnectionFailure(), True),  # as PgBouncer reports it
        (NotConnected(), False),
        (errors.CannotConnectNow(), False),
        (errors.InsufficientPrivilege(), False),
    ],
)
def test_only_a_connection_that_broke_in_use_is_a_disconnect(
    error: psycopg.Error, lost: bool
) -> None:
    translated = translate(error)
    translated.__cause__ = error
    assert isinstance(translated, StoreUnavailable)
    assert is_disconnect(translated) is lost
