"""The files with which a machine runs Recollect as a service, of systemd or launchd.

They are rendered from what they run, so that an installed file always fits this version.
"""

from __future__ import annotations

import plistlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

SERVER: Final = "recollect.service"
WORKER: Final = "recollect-worker.service"
BACKUP: Final = "recollect-backup.service"
TIMER: Final = "recollect-backup.timer"
UNITS: Final = (SERVER, WORKER, BACKUP, TIMER)
LAUNCHD_SERVER: Final = "dev.recollect.server"
LAUNCHD_BACKUP: Final = "dev.recollect.backup"
AGENTS: Final = (LAUNCHD_SERVER, LAUNCHD_BACKUP)

_KEEP: Final = "14"

# What a unit of any account may ask for. MemoryDenyWriteExecute is missing: Postgres and the
# runtime of models compile at run time.
_HARDENED: Final = """\
NoNewPrivileges=yes
UMask=0077
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictNamespaces=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
"""
# For the whole machine. The account is a fixed one, not DynamicUser, because backups outside of the
# state directory have to stay its own.
ACCOUNT: Final = "u recollect - Recollect /var/lib/recollect\n"
"""For systemd-sysusers."""
# These need the system's manager.
_SYSTEM: Final = """\
User=recollect
Group=recollect
StateDirectory=recollect
StateDirectoryMode=0700
Environment=RECOLLECT_HOME=/var/lib/recollect
CapabilityBoundingSet=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
"""


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """What to run. `program` is the `recollect` command; `is_system` means for the whole machine,
    else for one account. `environment` is what the account's settings differ in.
    """

    program: Path
    is_system: bool
    worker: bool = False
    backups: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def render_units(plan: ServicePlan) -> dict[str, str]:
    """The units for systemd, by file name."""
    units = {SERVER: _server(plan)}
    if plan.worker:
        units[WORKER] = _worker(plan)
    if plan.backups is not None:
        units[BACKUP] = _backup(plan, plan.backups)
        units[TIMER] = _TIMER
    return units


def render_agents(plan: ServicePlan, logs: Path) -> dict[str, str]:
    """The agents for launchd, by label."""
    agents = {LAUNCHD_SERVER: _agent(plan, LAUNCHD_SERVER, ["serve"], logs, KeepAlive=True)}
    if plan.backups is not None:
        arguments = ["backup", str(plan.backups), "--verify", "--keep", _KEEP]
        nightly = {"Hour": 3, "Minute": 17}
        agents[LAUNCHD_BACKUP] = _agent(
            plan, LAUNCHD_BACKUP, arguments, logs, StartCalendarInterval=nightly
        )
    return agents


def _server(plan: ServicePlan) -> str:
    inside = "Environment=RECOLLECT_WORKER=off\n" if plan.worker else ""
    wanted = "multi-user.target" if plan.is_system else "default.target"
    return f"""\
[Unit]
Description=Recollect server
After=network-online.target
Wants=network-online.target

[Service]
Type=exec
ExecStart={_word(plan.program)} serve
{inside}{_shared(plan)}Restart=on-failure
RestartSec=2

[Install]
WantedBy={wanted}
"""


def _worker(plan: ServicePlan) -> str:
    """It stops before the server does, which stops the embedded Postgres of both."""
    return f"""\
[Unit]
Description=Recollect worker
After={SERVER}
PartOf={SERVER}

[Service]
Type=exec
ExecStart={_word(plan.program)} worker
{_shared(plan)}Restart=on-failure
RestartSec=2

[Install]
WantedBy={SERVER}
"""


def _backup(plan: ServicePlan, folder: Path) -> str:
    writable = ""
    if plan.is_system:
        # As root, outside of the protections: the directory may not be there yet.
        make = f"install -d -m 0700 -o recollect -g recollect {_word(folder)}"
        writable = f"ExecStartPre=+{make}\nReadWritePaths=-{_quote(folder)}\n"
    return f"""\
[Unit]
Description=Back up Recollect
After={SERVER}

[Service]
Type=oneshot
ExecStart={_word(plan.program)} backup {_word(folder)} --verify --keep {_KEEP}
{_shared(plan)}{writable}Nice=10
IOSchedulingClass=idle
"""


_TIMER: Final = """\
[Unit]
Description=Back up Recollect every night

[Timer]
OnCalendar=*-*-* 03:17:00
RandomizedDelaySec=30min
Persistent=yes

[Install]
WantedBy=timers.target
"""


def _shared(plan: ServicePlan) -> str:
    """SIGTERM goes to Recollect alone, which stops the embedded Postgres itself."""
    system = _SYSTEM if plan.is_system else ""
    variables = "".join(
        f"Environment={_quote(f'{name}={value}')}\n" for name, value in plan.environment.items()
    )
    return f"""\
EnvironmentFile=-%E/recollect/environment
{variables}KillMode=mixed
TimeoutStopSec=60
LimitNOFILE=65536
{system}{_HARDENED}"""


def _quote(value: Path | str) -> str:
    """As systemd reads a value with a space in it."""
    text = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    is_plain = not any(character.isspace() or character in "\"\\'" for character in text)
    return text if is_plain else f'"{text}"'


def _word(value: Path) -> str:
    """The same for a word of a command, where variables are expanded."""
    return _quote(value).replace("$", "$$")


def _agent(
    plan: ServicePlan, label: str, arguments: list[str], logs: Path, **schedule: object
) -> str:
    values = {
        "Label": label,
        "ProgramArguments": [str(plan.program), *arguments],
        "EnvironmentVariables": dict(plan.environment),
        "RunAtLoad": label == LAUNCHD_SERVER,
        "StandardOutPath": str(logs / f"{label}.log"),
        "StandardErrorPath": str(logs / f"{label}.log"),
        "ExitTimeOut": 60,
        "Umask": 0o077,
        "ProcessType": "Background",
        **schedule,
    }
    return plistlib.dumps(values).decode()
