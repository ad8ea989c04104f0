"""Whether text may be sent to an address: decided here, and nowhere else.

A memory sent to be embedded has left the machine, and so has a query. By default nothing leaves;
RECOLLECT_EGRESS=hosted allows hosted models. The client of a Recollect server asks the same
`is_loopback` before it sends anything sensitive.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from recollect.core.errors import InvalidInput

Egress = Literal["local", "hosted"]

# Deliberately narrower than a valid URL: no user name, query, backslash or escape, so that no HTTP
# client can see another host in the text than the one checked here. Compiled on use: every command
# imports this module, and few need the pattern.
_ADDRESS: Final = (
    r"(?P<scheme>(?i:https?))://"
    r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9._-]+))"
    r"(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]*)?"
)


def is_allowed(url: str, egress: Egress) -> bool:
    """Whether text may be sent to `url`: to this machine always, elsewhere only if allowed."""
    return is_loopback(url) or (egress == "hosted" and re.fullmatch(_ADDRESS, url) is not None)


def require_allowed(url: str, egress: Egress) -> None:
    """Raise InvalidInput with a remedy if text may not be sent to `url`."""
    if re.fullmatch(_ADDRESS, url) is None:
        raise InvalidInput(
            "The address of the embedding service is not a plain http or https address.",
            field="url",
            remedy="Write it as https://host/path, without user name, query or escapes.",
        )
    if not is_allowed(url, egress):
        raise InvalidInput(
            f"RECOLLECT_EGRESS={egress} keeps all text on this machine, but {url} is "
            "another machine.",
            field="RECOLLECT_EGRESS",
            remedy="Use a local model or a server on 127.0.0.1, or set RECOLLECT_EGRESS=hosted "
            "to allow sending queries and memories that are not sensitive.",
        )


def require_private(url: str) -> None:
    """Raise InvalidInput if a key sent to `url` could be intercepted."""
    if not (url.lower().startswith("https://") or is_loopback(url)):
        raise InvalidInput(
            f"A key must not be sent to {url}: others on the network could read it.",
            field="url",
            remedy="Use an https address or a server on 127.0.0.1, or omit the key.",
        )


def unencrypted_key_error() -> InvalidInput:
    return InvalidInput(
        "a key would cross the network unencrypted",
        field="RECOLLECT_API_URL",
        remedy="Use https, or an ssh tunnel to a port on this machine. A tunnel counts as this "
        "machine, so sensitive memories are sent through it.",
    )


def sensitive_query_error(*, is_declared: bool) -> InvalidInput:
    """Return the error for a query that must not be sent to the server: it is declared sensitive,
    or its text looks like a secret.
    """
    held = "" if is_declared else "it looks like a secret: "
    return InvalidInput(
        f"{held}a sensitive query stays on this machine, and the server is on another",
        field="is_sensitive",
        remedy="Unset RECOLLECT_API_URL to ask the local store, or ask without the secret.",
    )


def is_loopback(url: str) -> bool:
    """Whether the address is certainly this machine. Of names only `localhost` counts: any other
    may mean another machine tomorrow. Spellings that programs read differently, such as 127.1,
    0x7f000001, a trailing dot or an IPv6 zone, count as another machine.
    """
    address = re.fullmatch(_ADDRESS, url)
    if address is None:
        return False
    host = address["ipv6"] or address["host"]
    if host.lower() == "localhost":
        return True
    import ipaddress  # imported late: few commands need it

    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return False
    # An IPv4-mapped IPv6 address is judged as its IPv4 address.
    return (getattr(ip, "ipv4_mapped", None) or ip).is_loopback
