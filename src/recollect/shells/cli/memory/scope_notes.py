"""Report where a command searched: which project, and how to search everywhere."""

from __future__ import annotations

from recollect.core.memory.memory import Scope
from recollect.shells.cli.framework.output import note, one_line


def report_scope(scope: Scope) -> None:
    """Memories of one project must not pass for all memories."""
    if where := in_scope(scope):
        note(f"searched{where.removeprefix(' in')}{more_everywhere(scope)}")


def in_scope(scope: Scope) -> str:
    named = [] if scope.project is None else [one_line(scope.project)]
    parts = [*named, *(["global memories"] if scope.with_global else [])]
    return f" in {' and '.join(parts)}" if parts else ""


def more_everywhere(scope: Scope) -> str:
    return "; use --everywhere to search all projects" if in_scope(scope) else ""
