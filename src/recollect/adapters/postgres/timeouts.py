"""How long Postgres is waited for: in one place, so that every connection is given the same."""

from __future__ import annotations

from typing import Final

from psycopg.conninfo import conninfo_to_dict, make_conninfo

CONNECT_SECONDS: Final = 10
"""For a new connection, when a server, a worker or a command starts."""

POOL_SECONDS: Final = 3
"""For a connection of the pool, while somebody waits for the answer to a request."""

_PROBES: Final = {
    "keepalives_idle": 30,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": CONNECT_SECONDS * 1000,
}


def with_keepalives(url: str) -> str:
    """The address, with connections that notice when nobody is at their other end any more.

    A firewall forgets a connection that was idle for some minutes and drops what then comes, with
    no word to either side. The kernel's own patience is two hours for what idles and a quarter of
    an hour for a request on its way. What the address says of this itself holds.
    """
    said = conninfo_to_dict(url)
    return make_conninfo(
        url, **{name: number for name, number in _PROBES.items() if name not in said}
    )
