"""The commands that manage the keys of a server: create, list, rotate, revoke."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, TypeVar

from recollect.core.errors import InvalidInput
from recollect.core.privacy.keys import ROLES, Key
from recollect.shells.cli.framework.commands import Argument, Group, Option
from recollect.shells.cli.framework.options import (
    AsJson,
    Start,
    check_project,
    parse_duration,
    parse_future,
)
from recollect.shells.cli.framework.output import note, print_json, show
from recollect.shells.cli.framework.shell import ask_part

if TYPE_CHECKING:
    from recollect.ports.keys import Keys
    from recollect.wiring.server import Server

Answer = TypeVar("Answer")
Id = Annotated[str, Argument(metavar="ID", help="The key's id, or the end of it.")]

keys_app = Group(
    "Manage the keys of a server: through its API with an admin key if RECOLLECT_API_URL is set, "
    "otherwise in its database."
)


@keys_app.command("create")
def create_key(
    *,
    owner: Annotated[
        str | None,
        Option(
            "--owner",
            help="Owner whose memories the key opens (default: RECOLLECT_OWNER; through the "
            "API: the owner of the key in use).",
        ),
    ] = None,
    label: Annotated[str, Option("--label", help="Who or what will use the key.")] = "",
    role: Annotated[str, Option("--role", help=f"Role of the key: {', '.join(ROLES)}.")] = "member",
    project: Annotated[
        str | None, Option("--project", help="Limit the key to this project.")
    ] = None,
    expires: Annotated[
        str | None,
        Option("--expires", help="When the key expires: 2027-01-31, or after a time such as 90d."),
    ] = None,
    start: Start = False,
    as_json: AsJson = False,
) -> None:
    """Create a key. The key is shown only once; the server stores only a hash."""
    expires_at = parse_future(expires, "expires", datetime.now(UTC)) if expires else None
    limited = check_project(project)

    async def create(keys: Keys) -> tuple[Key, str]:
        return await keys.create(owner, label, role=role, project=limited, expires_at=expires_at)

    _show_new(*_ask(create, start=start), as_json=as_json)


@keys_app.command("list")
def list_keys(*, start: Start = False, as_json: AsJson = False) -> None:
    """List the keys, without their text."""

    async def read(keys: Keys) -> list[Key]:
        return list(await keys.list())

    found = _ask(read, start=start)
    if as_json:
        from recollect.wire.admin import KEYS

        print_json(KEYS.encode(found))
    else:
        from recollect.shells.cli.render.tables import keys as table

        show(table(found, datetime.now(UTC)))


@keys_app.command("rotate")
def rotate_key(
    id: Id,
    *,
    grace: Annotated[
        str, Option("--grace", help="How long the old key stays valid: 30m, 12h, 7d, or 0.")
    ] = "0",
    start: Start = False,
    as_json: AsJson = False,
) -> None:
    """Replace a key with a new one for the same owner, role and project."""
    period = parse_duration(grace, "grace")

    async def rotate(keys: Keys) -> tuple[Key, str]:
        return await keys.rotate(id, period)

    _show_new(*_ask(rotate, start=start), as_json=as_json)


@keys_app.command("revoke")
def revoke_key(
    id: Annotated[
        str | None, Argument(metavar="[ID]", help="The key's id, or the end of it.")
    ] = None,
    *,
    every: Annotated[
        bool, Option("--all", help="Revoke all keys, for example after restoring a backup.")
    ] = False,
    start: Start = False,
    as_json: AsJson = False,
) -> None:
    """Revoke a key, immediately and permanently."""
    if (id is None) != every:
        raise InvalidInput(
            "pass either one key or --all",
            field="id",
            remedy="Pass an id that `recollect keys list` shows, or --all.",
        )

    async def revoke(keys: Keys) -> list[str]:
        if id is not None:
            return [str(await keys.revoke(id))]
        now = datetime.now(UTC)
        valid = [key for key in await keys.list() if not key.is_revoked(now)]
        return [str(await keys.revoke(str(key.id))) for key in valid]

    revoked = _ask(revoke, start=start)
    if as_json:
        print_json({"revoked": revoked if every else revoked[0]})
    else:
        show(*(f"revoked {id}" for id in revoked))


def _ask(question: Callable[[Keys], Awaitable[Answer]], *, start: bool) -> Answer:
    from recollect.wiring.local import open_remote_keys

    def own(server: Server) -> Keys:
        from recollect.usecases.admin.keys import OwnKeys

        return OwnKeys(server.keys, server.context, server.settings.owner)

    return ask_part(question, remote=open_remote_keys, own=own, start=start)


def _show_new(key: Key, text: str, *, as_json: bool) -> None:
    if as_json:
        from recollect.wire.admin import NEW_KEY, NewKey

        print_json(NEW_KEY.encode(NewKey(key, text)))
        return
    show(text)
    limit = f", limited to the project {key.project}" if key.project else ""
    until = f", until {key.expires_at.astimezone():%Y-%m-%d %H:%M}" if key.expires_at else ""
    note(
        f"a {key.role} key of {key.owner}{limit}{until}; it is shown only once: save it in "
        "RECOLLECT_API_KEY"
    )
