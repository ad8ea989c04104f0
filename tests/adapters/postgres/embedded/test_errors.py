"""Every failure says what to do, and leaves no server behind."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.adapters.postgres.embedded import (
    EmbeddedPostgres,
    EmbeddedPostgresError,
    installation,
)
from recollect.adapters.postgres.embedded.account import account_for
from recollect.adapters.postgres.embedded.cluster import failure
from recollect.adapters.postgres.embedded.errors import (
    ClusterBusy,
    ClusterNotCreated,
    ClusterNotStarted,
    DataFolderUnusable,
    DiskFull,
    HomeUnusable,
    PlatformUnsupported,
    SocketUnusable,
    explain_os_errors,
)
from recollect.adapters.postgres.embedded.locations import alone, find_postmaster, socket_folder

Embed = Callable[..., EmbeddedPostgres]


def test_a_home_that_cannot_be_made(embed: Embed, home: Path) -> None:
    home.write_text("a file")
    with pytest.raises(HomeUnusable) as caught:
        embed(home / "below")
    assert "RECOLLECT_HOME" in caught.value.remedy
    home.unlink()


def test_a_home_where_no_folder_can_be_made(embed: Embed) -> None:
    with pytest.raises(HomeUnusable, match="Cannot create /proc/below") as caught:
        embed(Path("/proc/below/home"))
    assert "RECOLLECT_HOME" in caught.value.remedy


@pytest.mark.slow
@pytest.mark.parametrize("name", ['quo"te', "dollar$HOME", "back`tick"])
def test_a_path_that_a_shell_would_change(embed: Embed, home: Path, name: str) -> None:
    with pytest.raises(HomeUnusable, match="shell"):
        embed(home / name)


def test_a_full_disk() -> None:
    with pytest.raises(DiskFull), explain_os_errors(Path("/dev/full")):
        Path("/dev/full").write_text("x")


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        ("initdb: could not write: No space left on device", DiskFull),
        ("error while loading shared libraries: liblz4.so.1", PlatformUnsupported),
        ("something else", ClusterNotCreated),
    ],
)
def test_known_causes_get_their_own_name(output: str, kind: type[EmbeddedPostgresError]) -> None:
    error = failure(ClusterNotCreated, "initdb failed:", output, where=Path("/x"), remedy="look")
    assert type(error) is kind
    assert isinstance(error, EmbeddedPostgresError)
    assert error.remedy


def test_a_program_without_output_is_reported_as_such() -> None:
    error = failure(ClusterNotCreated, "initdb failed:", "\n", where=Path("/x"), remedy="look")
    assert str(error) == "initdb failed:\n  it said nothing"


PG0_AT_TIMES = """#!/bin/sh
if [ -e {once} ]; then exec {program} "$@"; fi
echo "the weather is bad" >&2
{mark}
exit 7
"""


@pytest.mark.parametrize("at_second_try", [True, False])
def test_unpacking_is_retried_once_and_its_output_reported(
    home: Path, *, at_second_try: bool
) -> None:
    home.mkdir()
    home.chmod(0o777)
    once, program, script = home / "once", home / "pg0", home / "at-times"
    shutil.copyfile(installation.find_pg0(), program)
    program.chmod(0o755)
    mark = f"touch {once}" if at_second_try else ""
    script.write_text(PG0_AT_TIMES.format(once=once, program=program, mark=mark))

    def unpack() -> None:
        account = account_for("nobody")
        installation.unpack(script, home / "extract", home / "binaries", account)

    if at_second_try:
        unpack()
        assert (home / "binaries" / "bin" / "postgres").exists()
    else:
        with pytest.raises(PlatformUnsupported, match=r"(?s)exit code 7.*the weather is bad"):
            unpack()


@pytest.mark.slow
def test_data_of_another_major_version(embed: Embed) -> None:
    embedded = embed()
    with embedded:
        pass
    (embedded.folder / "data" / "PG_VERSION").write_text("17\n")
    with pytest.raises(DataFolderUnusable, match="PostgreSQL 17; this is PostgreSQL 18"):
        embedded.start()


def test_a_folder_that_is_no_cluster(embed: Embed) -> None:
    embedded = embed()
    (embedded.folder / "data").mkdir()
    with pytest.raises(DataFolderUnusable, match="not a Postgres data folder"):
        embedded.start()


@pytest.mark.slow
def test_a_lost_password(embed: Embed) -> None:
    embedded = embed()
    with embedded:
        pass
    (embedded.folder / "pgpass").unlink()
    with pytest.raises(DataFolderUnusable, match="pgpass"):
        embedded.start()
    assert find_postmaster(embedded.folder / "data") is None


@pytest.mark.slow
def test_initdb_that_fails_is_quoted_and_leaves_no_data(
    embed: Embed, home: Path, installation: Path
) -> None:
    embed().verdict  # noqa: B018 (installs)
    broken = home / "broken"
    shutil.copytree(installation, broken, symlinks=True)
    broken.chmod(0o711)
    next(broken.glob("pg0-*/share/postgres.bki")).unlink()
    embedded = embed(installation=broken)
    with pytest.raises(ClusterNotCreated, match=r"postgres\.bki"):
        embedded.start()
    assert not (embedded.folder / "data").exists()


@pytest.mark.slow
def test_a_server_that_ends_at_once_is_quoted(embed: Embed) -> None:
    embedded = embed()
    with embedded:
        pass
    with (embedded.folder / "data" / "postgresql.conf").open("a") as configuration:
        configuration.write("no_such_setting = 1\n")
    with pytest.raises(ClusterNotStarted, match="no_such_setting"):
        embedded.start()
    assert find_postmaster(embedded.folder / "data") is None


def test_a_lock_that_is_held_for_too_long(home: Path) -> None:
    home.mkdir()
    with (
        alone(home / "lock", timeout=1),
        pytest.raises(ClusterBusy),
        alone(home / "lock", timeout=0),
    ):
        pass


def test_a_socket_folder_of_another_user_is_refused(home: Path) -> None:
    folder = home / ("long" * 30)
    folder.mkdir(parents=True)
    sockets = socket_folder(folder, account_for("nobody"))
    sockets.chmod(0o755)
    try:
        with pytest.raises(SocketUnusable) as caught:
            socket_folder(folder, account_for("nobody"))
        assert str(sockets) in caught.value.remedy
    finally:
        sockets.rmdir()


@pytest.mark.slow
@pytest.mark.parametrize("mount_point", [False, True])
def test_lost_data_is_not_replaced_by_an_empty_server(embed: Embed, *, mount_point: bool) -> None:
    """As when the volume that holds it is not mounted."""
    embedded = embed()
    with embedded:
        pass
    data, elsewhere = embedded.folder / "data", embedded.folder / "elsewhere"
    data.rename(elsewhere)
    if mount_point:
        data.mkdir()
        shutil.chown(data, elsewhere.stat().st_uid, elsewhere.stat().st_gid)
    with pytest.raises(DataFolderUnusable, match=f"{data} (is missing|holds no)") as refused:
        embed().start()
    assert "Mount the volume" in refused.value.remedy
    assert str(embedded.folder / "pgpass") in refused.value.remedy
    assert not any((embedded.folder / name).exists() for name in ("data.new", "data/PG_VERSION"))
    if mount_point:
        data.rmdir()
    elsewhere.rename(data)
    with embed():
        pass


@pytest.mark.slow
def test_giving_lost_data_up_begins_an_empty_server(embed: Embed) -> None:
    embedded = embed()
    with embedded:
        pass
    (embedded.folder / "data").rename(embedded.folder / "elsewhere")
    (embedded.folder / "pgpass").rename(embedded.folder / "pgpass.old")
    with embed():
        pass


@pytest.mark.slow
def test_passwords_that_were_not_settled_yet_are_found(embed: Embed) -> None:
    """As when the first start was killed after the data was in place."""
    embedded = embed()
    with embedded:
        pass
    (embedded.folder / "pgpass").rename(embedded.folder / "pgpass.new")
    with embed():
        assert (embedded.folder / "pgpass").exists()
