"""Where the process that holds the model listens, and who may ask it: processes of the same user.

The socket has mode 0600, and each end also asks the kernel for the user of the other: a file mode
does not prove who listens.

Hooks import this, so it imports almost nothing, and uses the part of `socket` that is written in
C: importing the rest takes a tenth of a hook's time.
"""

from __future__ import annotations

import os
import struct
import sys
from _socket import SOL_SOCKET, socket

from recollect.adapters.resident import socket_path

TYPE_CHECKING = False  # `typing` itself takes too long here
if TYPE_CHECKING:
    from collections.abc import Callable

MAX_REQUEST = 1_000_000
MAX_ANSWER = 4_000_000
# `sun_path` has room for 104 bytes on macOS and 108 on Linux, including the terminating zero.
_MAX_BYTES = 103
# From sys/un.h of macOS; `socket` has no names for them.
_SOL_LOCAL = 0
_LOCAL_PEERCRED = 1


def use_address(home: str, use: Callable[[str], None]) -> None:
    """Connect or bind to the socket in a home. Linux reaches one whose path is too long for an
    address through its open folder; elsewhere that is an OSError.
    """
    path = socket_path(home)
    if len(os.fsencode(path)) <= _MAX_BYTES or sys.platform != "linux":
        use(path)
        return
    folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        use(socket_path(f"/proc/self/fd/{folder}"))
    finally:
        os.close(folder)


def is_same_user(connection: socket) -> bool:
    """Return whether the process at the other end runs as our user. OSError if it has ended."""
    return _peer_user(connection) == os.geteuid()


def _peer_user(connection: socket) -> int:
    if sys.platform == "linux":
        from _socket import SO_PEERCRED

        credentials = connection.getsockopt(SOL_SOCKET, SO_PEERCRED, struct.calcsize("3i"))
        user: int = struct.unpack("3i", credentials)[1]
    else:  # struct xucred: a version, the user, then groups
        credentials = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 128)
        user = struct.unpack_from("2I", credentials)[1]
    return user
