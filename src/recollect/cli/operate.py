"""The commands on the keys of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli.errors import ExitCode
from recollect.cli.options import AsJson, whose
from recollect.cli.output import note, print_json, show
from recollect.cli.shell import ask_server
from recollect.cli.typed import Commands
from recollect.core.errors import InvalidInput

if TYPE_CHECKING:
    from recollect.core.keys import Key
    from recollect.wiring import Server

keys_app = Commands(
    invoke_without_command=True,
    help="The keys of the server whose database this machine can reach.",
)


@keys_app.callback()
def keys(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        note(context.get_help())
        raise typer.Exit(ExitCode.INVALID)


@keys_app.command("new")
def new_key(
    *,
    owner: Annotated[
        str | None,
        typer.Option("--owner", help="Whose memories it opens; default RECOLLECT_OWNER."),
    ] = None,
    label: Annotated[str, typer.Option("--label", help="Who or what will use it.")] = "",
    as_json: AsJson = False,
) -> None:
    """Make a key. Its text is shown this once; the server keeps only a hash."""

    async def issue(server: Server) -> tuple[Key, str]:
        from recollect.usecases.keys import issue_key

        return await issue_key(server.keys, server.clock, whose(owner, server.settings), label)

    key, text = ask_server(issue)
    if as_json:
        print_json({**_key_fields(key), "key": text})
    else:
        show(text)
        note(f"a key of {key.owner}; it is shown only now: put it into RECOLLECT_API_KEY")


@keys_app.command("list")
def list_keys(*, as_json: AsJson = False) -> None:
    """List the keys, never their texts."""

    async def known(server: Server) -> list[Key]:
        return list(await server.keys.list_keys())

    keys = ask_server(known)
    if as_json:
        print_json({"keys": [_key_fields(key) for key in keys]})
    else:
        from recollect.cli.render import keys as table

        show(table(keys))


@keys_app.command("revoke")
def revoke_key(
    id: Annotated[
        str | None, typer.Argument(metavar="ID", help="The key's id, or its beginning.")
    ] = None,
    *,
    every: Annotated[
        bool, typer.Option("--all", help="Every key, as after the restore of a backup.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Stop honouring a key, at once and for good."""
    if (id is None) != every:
        raise InvalidInput(
            "either one key or all of them can be revoked",
            field="id",
            remedy="Name a key that `recollect keys list` shows, or give --all.",
        )

    async def revoke(server: Server) -> list[str]:
        from recollect.usecases.keys import resolve_key
        from recollect.usecases.keys import revoke_key as revoke_in

        known = await server.keys.list_keys() if id is None else ()
        chosen = [key.id for key in known if key.revoked_at is None]
        if id is not None:
            chosen = [await resolve_key(server.keys, id)]
        for key in chosen:
            await revoke_in(server.keys, server.clock, key)
        return [str(key) for key in chosen]

    revoked = ask_server(revoke)
    if as_json:
        print_json({"revoked": revoked if every else revoked[0]})
    else:
        show(*(f"revoked {one}" for one in revoked))


def _key_fields(key: Key) -> dict[str, object]:
    return {
        "id": str(key.id),
        "owner": key.owner,
        "label": key.label,
        "created_at": key.created_at.isoformat(),
        "revoked_at": key.revoked_at.isoformat() if key.revoked_at else None,
    }
