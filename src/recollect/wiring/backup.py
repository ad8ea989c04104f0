"""Back up and restore the data of a home: the server's database, or the local store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from recollect.core.admin.backup import Manifest
from recollect.core.admin.machine import LastBackup
from recollect.core.admin.variables import SecretStr
from recollect.core.errors import InvalidInput, StoreError, StoreFull
from recollect.settings import Settings
from recollect.wiring.context import SystemClock
from recollect.wiring.postgres import has_database, postgres_url

if TYPE_CHECKING:
    from recollect.adapters.files.backup_folder import Backup

Report = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class BackupResult:
    path: Path
    manifest: Manifest
    is_verified: bool
    removed: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """`target` names the store that was restored; `notes` is what an operator should know."""

    path: Path
    manifest: Manifest
    target: str
    notes: tuple[str, ...]


async def make_backup(
    settings: Settings,
    folder: Path,
    *,
    local: bool,
    verify: bool,
    keep: int | None,
    report: Report,
) -> BackupResult:
    """Back up the server's database if there is one, else the local store."""
    from recollect.adapters.files.backup_folder import backup_name, new_backup, remove_old
    from recollect.adapters.files.home_files import record_backup

    now = SystemClock().now()
    with _explain_os_errors(folder):
        with new_backup(folder, now) as backup:
            if local or not has_database(settings):
                manifest = await _back_up_local(settings, backup)
            else:
                manifest = await _back_up_server(settings, backup, report)
            if verify:
                await _verify(settings, backup, manifest, report)
        removed = () if keep is None else tuple(remove_old(folder, keep))
    record_backup(settings.home, manifest.kind, LastBackup(now, is_verified=verify))
    return BackupResult(folder / backup_name(now), manifest, verify, removed)


async def restore_backup(
    settings: Settings, folder: Path, *, into: str | None, replace_data: bool, report: Report
) -> RestoreResult:
    """Restore a backup, or the newest one in the folder."""
    from recollect.adapters.files.backup_folder import find_backup

    backup = find_backup(folder)
    manifest = backup.read_manifest()
    chosen = _settings_for_restore(settings, manifest, into)
    if manifest.kind == "sqlite":
        from recollect.adapters.sqlite.backup import load_backup

        path = chosen.home / "memories.db"
        with _explain_os_errors(path.parent):
            await asyncio.to_thread(load_backup, path, backup, replace=replace_data)
        return RestoreResult(backup.path, manifest, str(path), ())
    with _explain_os_errors(chosen.home):
        target, notes = await _restore_server(chosen, backup, report, replace_data=replace_data)
    return RestoreResult(backup.path, manifest, target, notes)


async def _back_up_local(settings: Settings, backup: Backup) -> Manifest:
    from recollect.adapters.sqlite.backup import write_backup

    return await asyncio.to_thread(write_backup, settings.sqlite_path, backup, SystemClock().now())


async def _back_up_server(settings: Settings, backup: Backup, report: Report) -> Manifest:
    from recollect.adapters.files.erasure_log import ErasureLogs
    from recollect.adapters.postgres.backup import write_backup

    async with postgres_url(settings) as (url, _, _):
        manifest = await asyncio.to_thread(
            write_backup, url, backup, SystemClock().now(), settings.timeouts, report
        )
    if manifest.server is not None:
        ErasureLogs(settings.erasures_folder).copy_to(manifest.server, backup.erasures)
    return manifest


async def _restore_server(
    settings: Settings, backup: Backup, report: Report, *, replace_data: bool
) -> tuple[str, tuple[str, ...]]:
    """Restore a server's database. Erasures and revocations since the backup are applied before
    anyone can read the database, as far as the log of this home or of the backup has them.
    """
    from recollect.adapters.files.erasure_log import ErasureLogs
    from recollect.adapters.postgres.backup import load_backup
    from recollect.adapters.postgres.store import PostgresStore

    logs = ErasureLogs(settings.erasures_folder)
    async with postgres_url(settings) as (url, target, files):
        if replace_data:
            # Let the database that is replaced log the erasures it has not logged yet.
            async with PostgresStore(url, timeouts=settings.timeouts, erasures=logs):
                pass
        server = backup.read_manifest().server
        was_known = server is not None and logs.merge(server, backup.erasures)
        vector_note = await asyncio.to_thread(
            load_backup, url, backup, settings.timeouts, report, replace=replace_data
        )
        async with PostgresStore(
            url, timeouts=settings.timeouts, erasures=logs, files=files
        ) as store:
            reapplied = store.reapplied
    notes = [] if reapplied is None else [str(reapplied)]
    if not was_known:
        notes.append(
            "this home has no erasure log of the server: keys that were revoked after the backup "
            "are valid again; revoke them, or all with `recollect keys revoke --all`"
        )
    if vector_note:
        notes.append(f"vectors were left out and will be computed again: {vector_note}")
    return target, tuple(notes)


async def _verify(settings: Settings, backup: Backup, manifest: Manifest, report: Report) -> None:
    """Restore the backup into a temporary store and compare every row."""
    with TemporaryDirectory(prefix="recollect-verify-") as folder:
        if manifest.kind == "sqlite":
            from recollect.adapters.sqlite.backup import compare as compare_local
            from recollect.adapters.sqlite.backup import load_backup as load_local

            path = Path(folder) / "memories.db"
            await asyncio.to_thread(load_local, path, backup)
            different = await asyncio.to_thread(compare_local, path, backup)
        else:
            different = await asyncio.to_thread(
                _verify_server, settings, Path(folder), backup, report
            )
    if different:
        raise StoreError(
            f"the backup differs from what was read: {', '.join(different)}",
            remedy="It was not kept. Check the disk, and try again.",
        )


def _verify_server(settings: Settings, folder: Path, backup: Backup, report: Report) -> list[str]:
    """Restore into an embedded Postgres, wherever the database is: this needs no right to create
    databases, and shows that the backup can be restored on another machine.
    """
    from recollect.adapters.postgres.backup import compare, load_backup
    from recollect.adapters.postgres.embedded import EmbeddedPostgres

    folder.chmod(0o711)  # run by root, Postgres has an account of its own
    with EmbeddedPostgres(folder, account=settings.postgres_account) as url:
        note = load_backup(url, backup, settings.timeouts, report)
        return compare(url, backup, settings.timeouts, without_vectors=bool(note))


def _settings_for_restore(settings: Settings, manifest: Manifest, into: str | None) -> Settings:
    if into is None:
        return settings
    if into.startswith(("postgresql://", "postgres://")):
        if manifest.kind != "postgres":
            raise InvalidInput(
                "the backup is that of a local store, not of a server",
                field="--into",
                remedy="Name a directory: the home of the restored store.",
            )
        return replace(settings, database_url=SecretStr(into))
    return replace(settings, home=Path(into), database_url=None, api_url=None)


@contextmanager
def _explain_os_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        import errno

        kind = StoreFull if error.errno in {errno.ENOSPC, errno.EDQUOT} else StoreError
        raise kind(
            f"{folder} cannot be read or written: {error.strerror or error}",
            remedy="Check the directory, its permissions and the free disk space.",
        ) from error
