"""The options that several commands share, and what their texts mean."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import CATEGORIES, Scope
from recollect.core.memory.owner import check_owner
from recollect.core.memory.project import scope_here
from recollect.shells.cli.declared import Option
from recollect.shells.cli.option_groups import option_group

if TYPE_CHECKING:
    from recollect.ports.service import Service
    from recollect.settings import Settings

AsJson = Annotated[bool, Option("--json", help="Print one JSON document.")]
Category = Annotated[str | None, Option("--category", help=f"One of: {', '.join(CATEGORIES)}.")]
Categories = Annotated[
    list[str] | None, Option("--category", help="Only this category; may be repeated.")
]
Tags = Annotated[list[str] | None, Option("--tag", help="A tag; may be repeated.")]
TagsOfScope = Annotated[
    list[str] | None, Option("--tag", help="Only with this tag; repeated: with all of them.")
]
Keywords = Annotated[
    list[str] | None,
    Option("--keyword", help="An extra word to find it by; may be repeated."),
]
Importance = Annotated[float | None, Option("--importance", help="From 0 (trivial) to 1 (vital).")]
Sensitive = Annotated[
    bool | None,
    Option(
        "--sensitive/--not-sensitive",
        help="Never sent to another machine; found by words only. Unsaid, a text that looks like a "
        "credential is sensitive.",
    ),
]
Project = Annotated[
    str | None, Option("--project", help="The project it belongs to; a short name will do.")
]
Global = Annotated[bool, Option("--global", help="It belongs to no project.")]
ProjectOfScope = Annotated[
    str | None, Option("--project", help="Only this project; a short name will do.")
]
GlobalOnly = Annotated[bool, Option("--global", help="Only memories of no project.")]
Everywhere = Annotated[
    bool, Option("--everywhere", help="In all projects, not only in that of this folder.")
]
Session = Annotated[str | None, Option("--session", help="The conversation it was said in.")]
Sessions = Annotated[
    list[str] | None, Option("--session", help="Only this session; may be repeated.")
]
Since = Annotated[
    str | None,
    Option("--since", help="Stored at or after: 2026-01-31, 2026-01-31T09:30 or 7d."),
]
Until = Annotated[str | None, Option("--until", help="Stored before; written like --since.")]
Start = Annotated[
    bool,
    Option("--start", help="Start the server's database for this command if it is stopped."),
]

_AGE: Final = re.compile(r"(\d{1,6})([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def scope(
    *,
    project: ProjectOfScope = None,
    session: Sessions = None,
    category: Categories = None,
    tag: TagsOfScope = None,
    since: Since = None,
    until: Until = None,
) -> Scope:
    """Which memories are meant, wherever the command runs."""
    now = datetime.now(UTC)
    return Scope(
        project=named_project(project),
        sessions=tuple(session or ()),
        categories=tuple(category or ()),
        tags=tuple(tag or ()),
        since=moment(since, "since", now) if since else None,
        until=moment(until, "until", now) if until else None,
    )


@option_group(where=scope)
def scope_of_folder(
    *, where: Scope, is_global: GlobalOnly = False, everywhere: Everywhere = False
) -> Scope:
    """The same in a folder: where no project is named, its own and global memories."""
    if (where.project is not None) + is_global + everywhere > 1:
        raise InvalidInput(
            "use only one of --project, --global and --everywhere",
            field="project",
            remedy="Leave all three out to search this folder's project and global memories.",
        )
    if is_global:
        return replace(where, with_global=True)
    return where if everywhere else scope_here(where, project_of_folder())


def project_of_folder() -> str | None:
    from recollect.wiring.project import current_project

    return current_project(Path.cwd(), os.environ)


def named_project(name: str | None, *, has_global: bool = False) -> str | None:
    """What --project names, if it is there; InvalidInput for an empty name."""
    if name is not None and not name.strip():
        raise InvalidInput(
            "--project is empty",
            field="project",
            remedy="Name a project, or leave --project out."
            + (" Use --global for no project." if has_global else ""),
        )
    return name


async def resolve_project(recollect: Service, name: str | None) -> str | None:
    """What a project's name means in this folder; a blank one means none."""
    if not name or not name.strip():
        return name
    return await recollect.resolve_project(name, project_of_folder())


def moment(text: str, option: str, now: datetime) -> datetime:
    """A date, a time (of the local zone unless it names another), or an age such as 7d."""
    try:
        if age := _AGE.fullmatch(text):
            return now - _length(age)
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{text[:60]!r} is not a time",
            field=option,
            remedy=f"Write --{option} as 2026-01-31, 2026-01-31T09:30, or an age such as 7d.",
        ) from error


def later(text: str, option: str, now: datetime) -> datetime:
    """A date or time to come, or how long from now, such as 90d."""
    try:
        if span := _AGE.fullmatch(text):
            return now + _length(span)
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{text[:60]!r} is not a time",
            field=option,
            remedy=f"Write --{option} as 2027-01-31, 2027-01-31T09:30, or from now such as 90d.",
        ) from error


def duration(text: str, option: str) -> timedelta:
    """How long, such as 12h; 0 needs no unit."""
    try:
        if text == "0":
            return timedelta(0)
        if span := _AGE.fullmatch(text):
            return _length(span)
    except OverflowError:
        pass
    raise InvalidInput(
        f"{text[:60]!r} is not a duration",
        field=option,
        remedy=f"Write --{option} as 30m, 12h, 7d or 2w, or 0.",
    )


def _length(span: re.Match[str]) -> timedelta:
    return timedelta(**{_UNITS[span[2]]: int(span[1])})


def whose(owner: str | None, settings: Settings) -> str:
    """Whom --owner means; unsaid, the owner of this process. A name is trimmed as a key's is."""
    if owner is None:
        return settings.owner
    check_owner(owner)
    return owner.strip()


def whole_id(text: str, option: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise InvalidInput(
            f"{text[:60]!r} is not a whole id",
            field=option,
            remedy=f"Give --{option} the 36 characters that `--json` shows.",
        ) from error
