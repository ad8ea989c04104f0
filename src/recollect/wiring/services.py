"""Recollect as a service of this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.core.admin.services import ServicePlan
from recollect.settings import Settings

if TYPE_CHECKING:
    from recollect.adapters.services import Manager, State


def render_services(
    settings: Settings, *, worker: bool, backups: Path | None, root: Path | None
) -> Mapping[Path, str]:
    manager, plan = _plan(settings, worker=worker, backups=backups, root=root)
    return manager.render(plan)


def install_services(
    settings: Settings, *, worker: bool, backups: Path | None, root: Path | None
) -> Sequence[Path]:
    manager, plan = _plan(settings, worker=worker, backups=backups, root=root)
    return manager.install(plan)


def remove_services(root: Path | None) -> Sequence[Path]:
    from recollect.adapters.services import find_manager

    return find_manager(root).remove()


def read_services(root: Path | None) -> Mapping[str, State]:
    from recollect.adapters.services import find_manager

    return find_manager(root).status()


def _plan(
    settings: Settings, *, worker: bool, backups: Path | None, root: Path | None
) -> tuple[Manager, ServicePlan]:
    from recollect.adapters.services import find_manager, find_program

    manager = find_manager(root)
    program = find_program(is_system=manager.is_system)
    variables = {} if manager.is_system else {"RECOLLECT_HOME": str(settings.home)}
    folder = None if backups is None else backups.absolute()
    return manager, ServicePlan(program, manager.is_system, worker, folder, variables)
