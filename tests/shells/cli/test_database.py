"""`recollect database distribute` where there is no cluster."""

from __future__ import annotations

from tests.shells.cli.commands import Cli


def test_the_embedded_postgres_cannot_be_distributed(cli: Cli) -> None:
    code, error = cli.error("database", "distribute")
    assert code == 2
    assert error["detail"] == "the embedded Postgres has no Citus"
    assert "RECOLLECT_DATABASE_URL" in error["remedy"]


def test_a_database_without_the_extension(cli: Cli, database_url: str) -> None:
    code, error = Cli(cli.home, {"RECOLLECT_DATABASE_URL": database_url}).error(
        "database", "distribute"
    )
    assert code == 6
    assert "create extension citus" in error["remedy"]
