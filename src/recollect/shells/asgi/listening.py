"""Bind the address that a server listens on, before anything else starts."""

from __future__ import annotations

import errno
import socket
from typing import Final

from recollect.core.errors import InvalidInput

_BACKLOG: Final = 2048
_LOOPBACK_OF: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # compared, not bound


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 picks a free one. It listens at once: two sockets that are
    only bound could share a port, and the second would fail much later.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise InvalidInput(
            f"{host!r} is not an address of this machine",
            field="RECOLLECT_HOST",
            remedy="Use 127.0.0.1 for this machine only, or one of its network addresses.",
        ) from error
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise _address_error(host, port, error) from error
    return listening


def url_of(listening: socket.socket) -> str:
    """Return the URL for a browser on this machine."""
    host, port = listening.getsockname()[:2]
    host = _LOOPBACK_OF.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _address_error(host: str, port: int, error: OSError) -> InvalidInput:
    if error.errno == errno.EADDRINUSE:
        return InvalidInput(
            f"port {port} of {host} is in use by another program",
            field="RECOLLECT_PORT",
            remedy="Stop that program, or choose another port with RECOLLECT_PORT (0 picks a "
            "free one).",
        )
    if error.errno == errno.EACCES:
        return InvalidInput(
            f"this account is not allowed to listen on port {port}",
            field="RECOLLECT_PORT",
            remedy="Choose a port above 1023 with RECOLLECT_PORT.",
        )
    return InvalidInput(
        f"cannot listen on {host}: {error.strerror}",
        field="RECOLLECT_HOST",
        remedy="Use 127.0.0.1 for this machine only, or one of its network addresses.",
    )
