"""How the server is set up, and why.

`TUNABLE` are only defaults, written into postgresql.conf where a person may change them. What must
hold whatever stands there is given on the command line: data is flushed, nobody connects from the
network, and no text of a memory reaches a log.
"""

from __future__ import annotations

import shutil
from pathlib import Path

PORT = "5432"  # only a part of the socket's name

TUNABLE = {
    "shared_buffers": "128MB",
    "maintenance_work_mem": "256MB",
    "max_connections": "50",
    "jit": "off",
    # Not the zone initdb finds here: the data may move to where no time zone files are.
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
    # A recycled segment keeps the bytes it held, erased texts among them, for as long as it waits.
    "wal_recycle": "off",
    # Error texts, their details ("Failing row contains …") and a crash report quote the memory
    # that was being written: they go to the client, which knows what it sent, and not to the log.
    "log_min_messages": "log",
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
}
# What tells letters from punctuation in a text search comes from the C library; "C" is the last
# resort because it takes every non-ASCII character, curly quotes too, for a letter.
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
    # Containers get 64 MB, and building an HNSW index in parallel takes maintenance_work_mem.
    memory = {} if _has_room_in_dev_shm() else {"dynamic_shared_memory_type": "mmap"}
    zone = time_zone()
    zones = {"timezone": zone, "log_timezone": zone}
    return _as_arguments(ENFORCED | places | memory | zones)


def time_zone() -> str:
    """UTC, under the only name Postgres knows where a slim container has no time zone files."""
    return "UTC" if Path("/usr/share/zoneinfo/UTC").exists() else "GMT"


def _as_arguments(settings: dict[str, str]) -> list[str]:
    return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]


def _has_room_in_dev_shm() -> bool:
    try:
        return shutil.disk_usage("/dev/shm").total >= _SHARED_MEMORY_NEEDED  # noqa: S108 (a size)
    except FileNotFoundError:
        return True  # not Linux: Postgres keeps its own default
