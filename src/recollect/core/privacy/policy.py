"""Who may do what on a server: for each operation the role that a key needs, how many writes the
operation counts as, and whether a key that is limited to a project may use it.

Every entry point (REST, MCP, sync, the page) names its operation to get its context
(`LocalService.context_for`). An operation that is not in the table is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from recollect.core.errors import Forbidden
from recollect.core.memory.memory import Scope
from recollect.core.memory.project import names
from recollect.core.privacy.keys import ROLES, Key, Role


@dataclass(frozen=True, slots=True)
class Policy:
    """`writes` is what an operation counts as unless it says how many it carries out. One that
    `spans_projects` cannot be limited to a project.
    """

    role: Role
    writes: int = 0
    spans_projects: bool = False


_READ: Final = Policy("read-only")
_WRITE: Final = Policy("member", writes=1)
_ADMIN: Final = Policy("admin")

POLICIES: Final[Mapping[str, Policy]] = {
    # Memories
    "remember": _WRITE,
    "remember_many": _WRITE,
    "get": _READ,
    "short_ids": _READ,
    "page": _READ,
    "update": _WRITE,
    "link": _WRITE,
    "unlink": _WRITE,
    "history": _READ,
    "restore": _WRITE,
    "forget": _WRITE,
    "resolve_project": _READ,
    "rename_project": Policy("member", writes=1, spans_projects=True),
    "stats": _READ,
    "erase_owner": Policy("member", writes=1, spans_projects=True),
    # Recall
    "recall": _READ,
    "why": _READ,
    "settings": _READ,
    "change_settings": _ADMIN,
    "settings_log": _READ,
    # The page
    "table": _READ,
    "details": _READ,
    "restore_forgotten": _WRITE,
    "export": _READ,
    "growth": _READ,
    "watch": _READ,
    # Sync
    "push": _WRITE,
    "pull": _READ,
    "conflicts": _READ,
    "resolve": _WRITE,
    # Curation
    "proposals": _READ,
    "accept_proposal": _WRITE,
    "decide_proposal": _WRITE,
    "curation_counts": _READ,
    "journal": _READ,
    "undo": _WRITE,
    # The concept graph, which joins all projects of an owner
    "read_graph": Policy("read-only", spans_projects=True),
    "edit_graph": Policy("member", writes=1, spans_projects=True),
    # Operation
    "status": Policy("read-only", spans_projects=True),
    "doctor": _ADMIN,
    "manage_keys": _ADMIN,
}


def check_operation(key: Key, operation: str) -> Policy:
    """Return the policy of an operation; Forbidden if the key may not carry it out."""
    policy = POLICIES[operation]
    if ROLES.index(key.role) < ROLES.index(policy.role):
        raise Forbidden(
            f"this needs a key with the role {policy.role}; this key's role is {key.role}",
            remedy=f"Use a key with the role {policy.role}. An admin creates one with "
            f"`recollect keys create --role {policy.role}`.",
        )
    if policy.spans_projects and key.project is not None:
        raise Forbidden(
            f"this covers all projects, but this key is limited to {key.project!r}",
            remedy="Use a key without a project. An admin creates one with "
            "`recollect keys create`.",
        )
    return policy


def scope_within(scope: Scope, project: str) -> Scope:
    """Limit the scope to a key's project; Forbidden if it names another one."""
    if scope.project is not None:
        check_project(scope.project, project)
    return replace(scope, project=project, with_global=False)


def check_project(named: str | None, project: str) -> None:
    """Raise Forbidden unless a key's project is named."""
    if not names(named or "", project):
        raise outside(project)


def outside(project: str) -> Forbidden:
    return Forbidden(
        f"this key is limited to the project {project!r}",
        remedy="Omit the project, or use a key that is not limited to a project.",
    )
