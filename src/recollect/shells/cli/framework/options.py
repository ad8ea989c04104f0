"""Options shared by several commands, and how their values are parsed."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypedDict
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import CATEGORIES, Scope, check_owner
from recollect.core.memory.project import scope_here
from recollect.shells.cli.framework.commands import Option, option_group
from recollect.shells.cli.framework.output import note, one_line

if TYPE_CHECKING:
    from recollect.ports.service import Service
    from recollect.settings import Settings

AsJson = Annotated[bool, Option("--json", help="Print one JSON document.")]
Category = Annotated[str | None, Option("--category", help=f"Category: {', '.join(CATEGORIES)}.")]
Categories = Annotated[
    list[str] | None, Option("--category", help="Only memories of this category; repeatable.")
]
Tags = Annotated[list[str] | None, Option("--tag", help="Add a tag; repeatable.")]
TagsOfScope = Annotated[
    list[str] | None,
    Option("--tag", help="Only memories with this tag; repeat to require several."),
]
Keywords = Annotated[
    list[str] | None,
    Option("--keyword", help="An extra word to find the memory by; repeatable."),
]
Importance = Annotated[
    float | None, Option("--importance", help="Importance, from 0 (trivial) to 1 (vital).")
]
Sensitive = Annotated[
    bool | None,
    Option(
        "--sensitive/--not-sensitive",
        help="Never send the memory to another machine; it is found by words only. By "
        "default, texts that look like credentials are sensitive.",
    ),
]
Project = Annotated[
    str | None, Option("--project", help="Project of the memory; a short name is enough.")
]
Global = Annotated[bool, Option("--global", help="Store it in no project.")]
ProjectOfScope = Annotated[
    str | None, Option("--project", help="Only memories of this project; a short name is enough.")
]
GlobalOnly = Annotated[bool, Option("--global", help="Only memories without a project.")]
Everywhere = Annotated[
    bool, Option("--everywhere", help="Search all projects, not only that of this folder.")
]
Session = Annotated[str | None, Option("--session", help="The conversation the memory is from.")]
Sessions = Annotated[
    list[str] | None, Option("--session", help="Only memories of this session; repeatable.")
]
Since = Annotated[
    str | None,
    Option(
        "--since",
        help="Only memories stored at or after this time: 2026-01-31, 2026-01-31T09:30 or 7d.",
    ),
]
Until = Annotated[
    str | None,
    Option("--until", help="Only memories stored before this time; same formats as --since."),
]
Expires = Annotated[
    str | None,
    Option("--expires", help="Stop recalling it after this time: 30d, 12h or 2w."),
]
ValidFrom = Annotated[
    str | None,
    Option("--valid-from", help="Recall it from this time on: 2027-01-31, 2027-01-31T09:30 or 7d."),
]
ValidUntil = Annotated[
    str | None,
    Option("--valid-until", help="Recall it before this time only; formats as for --valid-from."),
]
Start = Annotated[
    bool,
    Option("--start", help="Start the server's database for this command if it is stopped."),
]

_AGE: Final = re.compile(r"(\d{1,6})([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Lifetime(TypedDict, total=False):
    """The given bounds of a memory's lifetime."""

    valid_from: datetime | None
    valid_until: datetime | None


def lifetime(
    *, expires: Expires = None, valid_from: ValidFrom = None, valid_until: ValidUntil = None
) -> Lifetime:
    """Parse when a memory is recalled; an empty value clears a bound."""
    now = datetime.now(UTC)
    given: Lifetime = {}
    if valid_from is not None:
        given["valid_from"] = _moment_or_none(valid_from, "valid-from", now)
    if valid_until is not None:
        given["valid_until"] = _moment_or_none(valid_until, "valid-until", now)
    if expires is not None:
        if "valid_until" in given:
            raise InvalidInput(
                "use only one of --expires and --valid-until",
                field="expires",
                remedy="Pass how long it is valid, or until when.",
            )
        given["valid_until"] = _expiry(expires, now)
    return given


def _moment_or_none(text: str, option: str, now: datetime) -> datetime | None:
    return parse_future(text, option, now) if text.strip() else None


def _expiry(text: str, now: datetime) -> datetime:
    span = parse_duration(text, "expires")
    too = "short" if span <= timedelta(0) else "long"
    try:
        if span > timedelta(0):
            return now + span
    except OverflowError:
        pass
    raise InvalidInput(
        f"--expires {text[:60]} is too {too}",
        field="expires",
        remedy="Write how long to recall the memory, as 30m, 12h, 30d or 2w; omit it for always.",
    )


def scope(
    *,
    project: ProjectOfScope = None,
    session: Sessions = None,
    category: Categories = None,
    tag: TagsOfScope = None,
    since: Since = None,
    until: Until = None,
) -> Scope:
    """Parse which memories to search, independent of the folder."""
    now = datetime.now(UTC)
    return Scope(
        project=check_project(project),
        sessions=tuple(session or ()),
        categories=tuple(category or ()),
        tags=tuple(tag or ()),
        since=parse_moment(since, "since", now) if since else None,
        until=parse_moment(until, "until", now) if until else None,
    )


@option_group(where=scope)
def scope_of_folder(
    *, where: Scope, is_global: GlobalOnly = False, everywhere: Everywhere = False
) -> Scope:
    """Parse which memories to search here: by default, the folder's project and global ones."""
    if (where.project is not None) + is_global + everywhere > 1:
        raise InvalidInput(
            "use only one of --project, --global and --everywhere",
            field="project",
            remedy="Omit all three to search this folder's project and global memories.",
        )
    if is_global:
        return replace(where, with_global=True)
    if everywhere or where.project is not None:  # no need to read the repository
        return where
    return scope_here(where, project_of_folder())


def project_of_folder() -> str | None:
    from recollect.wiring.project import current_project

    return current_project(Path.cwd(), os.environ)


def check_project(name: str | None, *, has_global: bool = False) -> str | None:
    """Return the value of --project, if given; raise InvalidInput if it is empty."""
    if name is not None and not name.strip():
        raise InvalidInput(
            "--project is empty",
            field="project",
            remedy="Name a project, or omit --project."
            + (" Use --global for no project." if has_global else ""),
        )
    return name


async def resolve_project(recollect: Service, name: str | None) -> str | None:
    """Resolve a project's name in this folder; a blank name means no project."""
    if not name or not name.strip():
        return name
    return await recollect.resolve_project(name, project_of_folder())


def parse_moment(text: str, option: str, now: datetime) -> datetime:
    """Parse a date, a time (local unless it has a zone), or an age such as 7d."""
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


def parse_future(text: str, option: str, now: datetime) -> datetime:
    """Parse a future date or time, or a time from now such as 90d."""
    try:
        if span := _AGE.fullmatch(text):
            return now + _length(span)
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{text[:60]!r} is not a time",
            field=option,
            remedy=f"Write --{option} as 2027-01-31, 2027-01-31T09:30, or a time from now such as "
            "90d.",
        ) from error


def parse_duration(text: str, option: str) -> timedelta:
    """Parse a duration such as 12h; 0 needs no unit."""
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
        remedy=f"Write --{option} as a duration such as 30m, 12h, 7d or 2w.",
    )


def _length(span: re.Match[str]) -> timedelta:
    return timedelta(**{_UNITS[span[2]]: int(span[1])})


def owner_or_default(owner: str | None, settings: Settings) -> str:
    """Return --owner, trimmed like the owner of a key; by default, the owner of this process."""
    if owner is None:
        return settings.owner
    check_owner(owner)
    return owner.strip()


def parse_full_id(text: str, option: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise InvalidInput(
            f"{text[:60]!r} is not a full id",
            field=option,
            remedy=f"Pass --{option} a full id of 36 characters; `--json` shows it.",
        ) from error


def report_scope(scope: Scope) -> None:
    """Say where the command searched, so that one project's memories do not pass for all."""
    if where := describe_scope(scope):
        note(f"searched{where.removeprefix(' in')}{suggest_everywhere(scope)}")


def describe_scope(scope: Scope) -> str:
    named = [] if scope.project is None else [one_line(scope.project)]
    parts = [*named, *(["global memories"] if scope.with_global else [])]
    return f" in {' and '.join(parts)}" if parts else ""


def suggest_everywhere(scope: Scope) -> str:
    return "; use --everywhere to search all projects" if describe_scope(scope) else ""
